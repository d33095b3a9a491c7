import type { CliOutput } from './cliOutput.ts';
import type { Argument, Options } from './options.ts';
import { type Parsed, parseArguments } from './parseArguments.ts';

export interface VerbContext {
	readonly output: CliOutput;
	/** The arguments after the verb. */
	readonly args: readonly string[];
	/** Path of the engine's program. */
	readonly engine: string;
}

/** Headings of the help, in its order. */
export const verbGroups = ['Train', 'Runs', 'Rewards', 'Search and evaluate', 'Data', 'Setup'] as const;

/** One verb of the command line. It returns the exit status: 0 success, 1 failure; bad input is thrown. */
export interface Verb {
	/** As in `reasoning-lab <name>`. */
	readonly name: string;
	readonly group: (typeof verbGroups)[number];
	/** What follows the name. */
	readonly usage: string;
	/** One sentence. */
	readonly summary: string;
	readonly arguments: readonly Argument[];
	readonly options: Options;
	run(context: VerbContext): Promise<number>;
}

/** A verb's context with its parsed arguments. */
export type Call<T extends Options> = VerbContext & Parsed<T>;

interface Declaration<T extends Options> extends Pick<Verb, 'name' | 'group' | 'summary'> {
	/** Replaces the usage that follows from the arguments. */
	readonly usage?: string;
	readonly arguments?: readonly Argument[];
	readonly options?: T;
	/** Rewrites the arguments before they are parsed. */
	reorder?(args: readonly string[]): readonly string[];
	run(call: Call<T>): Promise<number>;
}

/** Makes a verb of its declaration, which is all that parsing, help and completion know of it. */
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

/** "<recipe> [options]" */
export function usageOf(positionals: readonly Argument[], options: Options): string {
	const shown = positionals.map(({ name, type, optional, max = 1 }) => {
		const one = typeof type === 'string' ? `<${name}>` : type.join('|');
		return `${optional ? `[${one}]` : one}${max > 1 ? '...' : ''}`;
	});
	return [...shown, ...(Object.keys(options).length === 0 ? [] : ['[options]'])].join(' ');
}
