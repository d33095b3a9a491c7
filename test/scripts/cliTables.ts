/** Generates the commands in docs/cli.md: an overview by group, then a section for each command with its options. */
import { optionRow } from '../../src/cli/helpText.ts';
import { usageOf, type Verb, verbGroups } from '../../src/cli/verb.ts';
import { allVerbs } from '../../src/cli/verbs.ts';

const verbs = await allVerbs();

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '\\<');
const anchor = ({ name }: Verb) => `[\`${name}\`](#${name})`;
/** Turns page names into links. The summaries use the same page names as the help. */
const linked = (text: string) => text.replace(/docs\/([\w-]+\.md)/g, '[$1]($1)');

function overview(): string {
	return verbGroups
		.map((group) => {
			const rows = verbs
				.filter((verb) => verb.group === group)
				.map((verb) => `| ${anchor(verb)} | ${cell(linked(verb.summary))} |`);
			return [`**${group}**`, '', '| command | |', '|---|---|', ...rows].join('\n');
		})
		.join('\n\n');
}

function section(verb: Verb): string {
	const { name, usage, summary, options } = verb;
	const groups = new Set(Object.values(options).map((option) => option.group ?? ''));
	const tables = [...groups].map((group) => {
		const own = Object.entries(options).filter(([, option]) => (option.group ?? '') === group);
		const rows = own.map(([option, declared]) => {
			const [left, meaning] = optionRow(option, declared);
			return `| \`${left.replaceAll('|', '\\|')}\` | ${cell(meaning)} |`;
		});
		return ['', `| ${group === '' ? 'option' : group.replaceAll('|', '\\|')} | |`, '|---|---|', ...rows].join('\n');
	});
	return [
		`### ${name}`,
		'',
		`\`reasoning-lab ${[name, usage].join(' ').trim()}\``,
		'',
		linked(summary),
		...(usageOf(verb.arguments, options) === '' ? [] : tables),
	].join('\n');
}

export const cliTables = (): Record<string, string> => ({
	overview: overview(),
	commands: verbs.map(section).join('\n\n'),
});
