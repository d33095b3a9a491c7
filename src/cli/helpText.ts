import type { Verb } from './verb.ts';

function columns(rows: readonly (readonly [string, string])[]): string[] {
	const width = Math.max(...rows.map(([left]) => left.length));
	return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** What an overview has room for: options are for the verb's own help. */
const argumentsOf = (usage: string): string => (usage.split(/ ?(?:\||\[?--)/)[0] as string).trim();

export function helpText(verbs: readonly Verb[]): string {
	return [
		'reasoning-lab trains small reasoning models, reads the runs of any trainer, and searches with any policy.',
		'',
		'Usage: reasoning-lab VERB [options]',
		'',
		...columns(verbs.map(({ name, usage, summary }) => [`${name} ${argumentsOf(usage)}`.trim(), summary])),
		'',
		'Every verb has --json: machine-readable output, and nothing else, on stdout.',
		'Exit status: 0 success, 1 a run failed, 2 bad input. See reasoning-lab help VERB.',
	].join('\n');
}

export function verbHelp({ name, usage, summary, options }: Verb): string {
	const rows = [...options, ['--json', 'Machine-readable output on stdout.'] as const];
	return [`Usage: reasoning-lab ${`${name} ${usage}`.trim()}`, '', summary, '', ...columns(rows)].join('\n');
}
