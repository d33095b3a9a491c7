import { rules } from '../../src/core/diagnosis/rules.ts';
import { thresholds } from '../../src/core/diagnosis/thresholds.ts';

const cell = (text: string) => text.replaceAll('|', '\\|');

/** Generates docs/diagnosis.md: each rule with its formula and thresholds. */
export function ruleTables(): Record<string, string> {
	const sections = rules.map(({ name, title, fires, silent, metrics, thresholds: used }) =>
		[
			`## ${title}`,
			`\`${name}\` fires when${/^(after|between|in|over|with) /.test(fires) ? ',' : ''} ${fires}`,
			`It stays silent ${silent}`,
			...(metrics.length === 0 ? [] : [`Reads: ${metrics.map((metric) => `\`${metric}\``).join(', ')}.`]),
			[
				'| threshold | | why |',
				'|---|---|---|',
				...used.map((key) => {
					const { value, unit, why } = thresholds[key];
					return `| \`${key}\` | ${`${value} ${cell(unit)}`.trim()} | ${cell(why)} |`;
				}),
			].join('\n'),
		].join('\n\n'),
	);
	return { rules: sections.join('\n\n') };
}
