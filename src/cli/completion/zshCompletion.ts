import { type Argument, commonOptions, type Option, type ValueType } from '../options.ts';
import type { Verb } from '../verb.ts';

export function zshCompletion(verbs: readonly Verb[]): string {
	const names = verbs.map(({ name }) => name);
	return `#compdef reasoning-lab
# zsh completion for reasoning-lab: source <(reasoning-lab completion zsh), after compinit
_reasoning_lab() {
	local verb
	if ((CURRENT == 2)); then
		local -a verbs=(
${verbs.map(({ name, summary }) => `\t\t\t${quoted(`${name}:${summary}`)}`).join('\n')}
		)
		_describe -t commands command verbs
		return
	fi
	verb=$words[2]
	shift words
	((CURRENT--))
	case $verb in
${verbs.map((verb) => verbCase(verb, names)).join('\n')}
	esac
}
compdef _reasoning_lab reasoning-lab
`;
}

function verbCase({ name, options, arguments: positionals }: Verb, names: readonly string[]): string {
	const specs = [
		...Object.entries<Option>({ ...options, ...commonOptions }).map(([option, declared]) => {
			const { type, value, meaning, repeatable } = declared;
			const text = meaning.replace(/[\\[\]:]/g, '\\$&');
			const taken = type === 'flag' ? '' : `:${value.replace(/[\\:]/g, '\\$&')}:${action(type, names)}`;
			return `${repeatable ? '*' : ''}--${option}[${text}]${taken}`;
		}),
		...positionals.map((one, i) => argument(one, i, names)),
	];
	return [
		`\t\t${name})`,
		'\t\t\t_arguments \\',
		specs.map((spec) => `\t\t\t\t${quoted(spec)}`).join(' \\\n'),
		'\t\t\t;;',
	].join('\n');
}

function argument({ name, type, max = 1 }: Argument, index: number, names: readonly string[]): string {
	return `${max > 1 ? '*' : index + 1}:${name}:${action(type, names)}`;
}

function action(type: ValueType, names: readonly string[]): string {
	if (type === 'path') return '_files';
	if (type === 'verb') return `(${names.join(' ')})`;
	return typeof type === 'string' ? ' ' : `(${type.join(' ')})`;
}

const quoted = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;
