import { commonOptions, type Option } from '../options.ts';
import type { Verb } from '../verb.ts';

export function fishCompletion(verbs: readonly Verb[]): string {
	const names = verbs.map(({ name }) => name);
	return [
		'# fish completion for reasoning-lab: reasoning-lab completion fish | source',
		'function __reasoning_lab_verb',
		'\tset -l words (commandline -opc)',
		'\ttest (count $words) -gt 1; and test "$words[2]" = "$argv[1]"',
		'end',
		'function __reasoning_lab_no_verb',
		'\ttest (count (commandline -opc)) -eq 1',
		'end',
		'complete -c reasoning-lab -f',
		...verbs.map(({ name, summary }) => {
			return `complete -c reasoning-lab -n __reasoning_lab_no_verb -a ${name} -d ${quoted(summary)}`;
		}),
		...verbs.flatMap((verb) => verbLines(verb, names)),
		'',
	].join('\n');
}

function verbLines({ name, options, arguments: positionals }: Verb, names: readonly string[]): string[] {
	const head = `complete -c reasoning-lab -n '__reasoning_lab_verb ${name}'`;
	return [
		...Object.entries<Option>({ ...options, ...commonOptions }).map(([option, { type, meaning }]) => {
			const values = typeof type === 'string' ? '' : ` -a ${quoted(type.join(' '))}`;
			const taken = type === 'flag' ? '' : type === 'path' ? ' -r -F' : ` -x${values}`;
			return `${head} -l ${option}${taken} -d ${quoted(meaning)}`;
		}),
		...positionals.flatMap(({ type }) => {
			if (type === 'path') return [`${head} -F`];
			if (type === 'verb') return [`${head} -a ${quoted(names.join(' '))}`];
			return typeof type === 'string' ? [] : [`${head} -a ${quoted(type.join(' '))}`];
		}),
	];
}

const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
