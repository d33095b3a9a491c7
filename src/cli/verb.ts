import type { CliOutput } from './cliOutput.ts';

export interface VerbContext {
	readonly output: CliOutput;
	/** The arguments after the verb. */
	readonly args: readonly string[];
	/** The engine's program. */
	readonly engine: string;
}

/** One verb of the command line. It returns the exit status: 0 success, 1 the run failed; bad input is thrown. */
export interface Verb {
	/** As in `reasoning-lab <name>`. */
	readonly name: string;
	/** What follows the name. */
	readonly usage: string;
	readonly summary: string;
	/** Option lines for `help <verb>`. */
	readonly options: readonly (readonly [option: string, text: string])[];
	run(context: VerbContext): Promise<number>;
}
