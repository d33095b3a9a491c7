import { formatCounted } from '../../base/format.ts';
import { type IsolationAttempt, type IsolationReport, isolationAreas } from '../../protocol/isolation.ts';

const areaTitles: Readonly<Record<IsolationAttempt['area'], string>> = {
	network: 'Network',
	files: 'Files',
	processes: 'Processes',
	resources: 'Memory, time, and disk',
	environment: 'Environment',
	kernel: 'Kernel',
};

const outcomes: Readonly<Record<IsolationAttempt['outcome'], string>> = {
	held: 'held',
	escaped: '**escaped**',
	skipped: 'skipped',
	untried: '**not tested**',
};

/** Returns one sentence about a check: which attempts were blocked, which were not, and which could not be tested. */
export function isolationSentence({ kind, attempts, held, failed, skipped, untried }: IsolationReport): string {
	const namesOf = (wanted: IsolationAttempt['outcome']) => {
		const names = attempts.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);
		return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');
	};
	const rest = [
		...(untried === 0 ? [] : [` ${untried} could not be tested: ${namesOf('untried')}.`]),
		...(skipped === 0 ? [] : [` ${skipped} skipped.`]),
	].join('');
	if (failed > 0) {
		return `The sandbox (${kind}) failed to block ${failed} of ${held + failed} escape attempts: ${namesOf('escaped')}.${rest}`;
	}
	if (held === 0) return `The sandbox (${kind}) could not be checked.${rest}`;
	const blocked = untried === 0 ? `all ${held} escape attempts` : formatCounted(held, 'escape attempt');
	return `The sandbox (${kind}) blocked ${blocked}.${rest}`;
}

/** Returns the report as Markdown. Evidence is formatted as code, because it was written inside the sandbox. */
export function isolationText(report: IsolationReport): string {
	const lines = [
		'# Sandbox isolation',
		'',
		isolationSentence(report),
		'',
		`Sandbox: ${report.description}.`,
		...(report.gaps.length === 0 ? [] : [`Missing: ${asCode(report.gaps.join(', '))}.`]),
		`Completed in ${(report.durationMs / 1000).toFixed(1)} s. See docs/sandbox.md for what is isolated and how.`,
	];
	for (const area of isolationAreas) {
		const attempts = report.attempts.filter((attempt) => attempt.area === area);
		if (attempts.length === 0) continue;
		lines.push('', `## ${areaTitles[area]}`, '', '| attempt | expected | outcome | evidence |', '|---|---|---|---|');
		for (const { tried, expected, outcome, evidence } of attempts) {
			lines.push(`| ${tried} | ${expected} | ${outcomes[outcome]} | ${asCode(evidence)} |`);
		}
	}
	return `${lines.join('\n')}\n`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const controls = /[\u0000-\u001f\u007f-\u009f]/g;

function asCode(text: string): string {
	const plain = text.replace(controls, ' ').replace(/`/g, "'").replace(/\|/g, '¦').trim();
	return plain === '' ? '' : `\`${plain}\``;
}
