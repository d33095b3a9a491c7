import { commonOptions, type Option, type Options } from './options.ts';
import { usageOf, type Verb, verbGroups } from './verb.ts';

const width = 100;
/** Maximum width of the left column. A longer cell is printed on a separate line. */
const maxLeft = 30;

/** Formats two columns, wrapping the right one. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
	const left = Math.max(...rows.map(([cell]) => cell.length).filter((length) => length <= maxLeft), 8);
	return rows.flatMap(([cell, words]) => {
		const [first = '', ...others] = wrapped(words, width - left - 4);
		const indent = ' '.repeat(left + 4);
		const head = cell.length > left ? [`  ${cell}`, indent + first] : [`  ${cell.padEnd(left)}  ${first}`];
		return [...head, ...others.map((line) => indent + line)];
	});
}

function wrapped(words: string, limit: number): string[] {
	const lines: string[] = [];
	for (const word of words.split(' ')) {
		const last = lines.at(-1);
		if (last === undefined || last.length + word.length >= limit) lines.push(word);
		else lines[lines.length - 1] = `${last} ${word}`;
	}
	return lines;
}

/** Returns the help row for an option: its syntax, such as "--seed N", and its description. */
export function optionRow(name: string, { type, value, meaning, repeatable }: Option): readonly [string, string] {
	const choices = typeof type === 'string' ? '' : ` One of ${type.join(', ')}.`;
	const often = repeatable ? ' Repeatable.' : '';
	return [`--${name} ${value}`.trim(), `${meaning}${choices}${often}`];
}

/** Groups options by heading; options without a heading come first. */
function grouped(options: Options): Map<string, (readonly [string, string])[]> {
	const groups = new Map<string, (readonly [string, string])[]>([['Options', []]]);
	for (const [name, option] of Object.entries(options)) {
		const heading = option.group ?? 'Options';
		groups.set(heading, [...(groups.get(heading) ?? []), optionRow(name, option)]);
	}
	return groups;
}

export function helpText(verbs: readonly Verb[]): string {
	return [
		'reasoning-lab trains small reasoning models, reads runs from any trainer, and runs searches with any policy.',
		'',
		'Usage: reasoning-lab COMMAND [options]',
		...verbGroups.flatMap((group) => [
			'',
			`${group}:`,
			...columns(
				verbs
					.filter((verb) => verb.group === group)
					.map((verb) => [`${verb.name} ${usageOf(verb.arguments, {})}`.trim(), verb.summary]),
			),
		]),
		'',
		'Every command accepts --json: stdout then contains only JSON, one object per line.',
		'Exit status: 0 success, 1 failure, 2 invalid input. See reasoning-lab help COMMAND.',
	].join('\n');
}

export function verbHelp({ name, usage, summary, options }: Verb): string {
	const sections = [...grouped({ ...options, ...commonOptions })].filter(([, rows]) => rows.length > 0);
	return [
		`Usage: reasoning-lab ${`${name} ${usage}`.trim()}`,
		'',
		...wrapped(summary, width),
		...sections.flatMap(([heading, rows]) => ['', `${heading}:`, ...columns(rows)]),
	].join('\n');
}
