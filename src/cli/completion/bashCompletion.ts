import { commonOptions, type Option, type ValueType } from '../options.ts';
import type { Verb } from '../verb.ts';

/** Supports bash 3.2, the version on macOS: no mapfile, and `compopt` only if available. */
export function bashCompletion(verbs: readonly Verb[]): string {
	const names = verbs.map(({ name }) => name).join(' ');
	return `# bash completion for reasoning-lab: eval "$(reasoning-lab completion bash)"
_reasoning_lab() {
	local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" verb="\${COMP_WORDS[1]}"
	local words="" options="" kind="" i position=0
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "${names} --help --version" -- "$cur"))
		return
	fi
	# --option=value is three words.
	if [ "$cur" = "=" ]; then
		cur=""
	elif [ "$prev" = "=" ]; then
		prev="\${COMP_WORDS[COMP_CWORD-2]}"
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		case "\${COMP_WORDS[i]}" in -*) ;; *) position=$((position + 1)) ;; esac
	done
	case "$verb" in
${verbs.map((verb) => verbCase(verb, names)).join('\n')}
	esac
	if [ -z "$kind" ]; then
		case "$cur" in -*) kind="words" words="$options" ;; esac
	fi
	case "$kind" in
		words) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
		path)
			local IFS=$'\\n'
			COMPREPLY=($(compgen -f -- "$cur"))
			compopt -o filenames 2>/dev/null
			;;
	esac
}
complete -F _reasoning_lab reasoning-lab
`;
}

function verbCase(verb: Verb, names: string): string {
	const options = Object.entries<Option>({ ...verb.options, ...commonOptions });
	const valued = options.filter(([, { type }]) => type !== 'flag');
	const values = valued.map(([name, { type }]) => `\t\t\t\t--${name}) ${effect(type, names)} ;;`);
	const [first, ...others] = verb.arguments;
	const last = others.at(-1) ?? first;
	return [
		`\t\t${verb.name})`,
		`\t\t\toptions="${options.map(([name]) => `--${name}`).join(' ')}"`,
		'\t\t\tcase "$prev" in',
		...values,
		...(first === undefined || last === undefined
			? []
			: [
					'\t\t\t\t*)',
					`\t\t\t\t\tcase "$position:$cur" in *:-*) ;; 0:*) ${effect(first.type, names)} ;; *) ${effect(last.type, names)} ;; esac`,
					'\t\t\t\t\t;;',
				]),
		'\t\t\tesac',
		'\t\t\t;;',
	].join('\n');
}

function effect(type: ValueType, names: string): string {
	if (type === 'path') return 'kind="path"';
	if (type === 'verb') return `kind="words" words="${names}"`;
	return typeof type === 'string' ? 'kind="none"' : `kind="words" words="${type.join(' ')}"`;
}
