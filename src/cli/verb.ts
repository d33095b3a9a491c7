import type { CliOutput } from './cliOutput.ts';
import type { Argument, Options } from './options.ts';
import { type Parsed, parseArguments } from './parseArguments.ts';

export interface VerbContext {
	readonly output: CliOutput;
	/** Arguments after the verb. */
	readonly args: readonly string[];
	/** Path of the engine's entry point. */
	readonly engine: string;
}

/** Group headings, in help order. */
export const verbGroups = ['Train', 'Runs', 'Rewards', 'Environments', 'Search and evaluate', 'Data', 'Setup'] as const;

/** A CLI verb. `run` returns the exit status (0 success, 1 failure) and throws on invalid input. */
export interface Verb {
	/** Name, as in `reasoning-lab <name>`. */
	readonly name: string;
	readonly group: (typeof verbGroups)[number];
	/** Usage text after the name. */
	readonly usage: string;
	/** One-sentence description. */
	readonly summary: string;
	readonly arguments: readonly Argument[];
	readonly options: Options;
	run(context: VerbContext): Promise<number>;
}

/** Verb context plus parsed arguments. */
export type Call<T extends Options> = VerbContext & Parsed<T>;

interface Declaration<T extends Options> extends Pick<Verb, 'name' | 'group' | 'summary'> {
	/** Overrides the usage text derived from the arguments. */
	readonly usage?: string;
	readonly arguments?: readonly Argument[];
	readonly options?: T;
	/** Rewrites the arguments before parsing. */
	reorder?(args: readonly string[]): readonly string[];
	run(call: Call<T>): Promise<number>;
}

/** Creates a verb from its declaration, which also drives argument parsing, help, and shell completion. */
export function defineVerb<const T extends Options = Record<never, never>>(declared: Declaration<T>): Verb {
	const accepted = { name: declared.name, arguments: declared.arguments ?? [], options: declared.options ?? ({} as T) };
	const { group, summary, usage = usageOf(accepted.arguments, accepted.options), reorder = (args) => args } = declared;
	return {
		...accepted,
		group,
		summary,
		usage,
		async run(context) {
			return declared.run({ ...context, ...parseArguments(accepted, reorder(context.args)) });
		},
	};
}

/** Returns the usage text, such as "<recipe> [options]". */
export function usageOf(positionals: readonly Argument[], options: Options): string {
	const shown = positionals.map(({ name, type, optional, max = 1 }) => {
		const one = typeof type === 'string' ? `<${name}>` : type.join('|');
		return `${optional ? `[${one}]` : one}${max > 1 ? '...' : ''}`;
	});
	return [...shown, ...(Object.keys(options).length === 0 ? [] : ['[options]'])].join(' ');
}
