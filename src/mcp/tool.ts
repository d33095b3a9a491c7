import type * as v from 'valibot';
import type { Runs } from './runs.ts';

/** What tools work with. */
export interface ToolContext {
	readonly runs: Runs;
	readonly signal: AbortSignal;
}

/** One tool of the server: what a client sees of it, and what it does. */
export interface Tool {
	/** As clients call it. */
	readonly name: string;
	readonly title: string;
	/** For the model that chooses among tools. */
	readonly description: string;
	readonly input: v.ObjectSchema<v.ObjectEntries, undefined>;
	/** @param input decoded by `input` */
	run(input: never, context: ToolContext): Promise<object>;
}

interface Declaration<T extends v.ObjectEntries> extends Omit<Tool, 'input' | 'run'> {
	readonly input: v.ObjectSchema<T, undefined>;
	run(input: v.InferOutput<v.ObjectSchema<T, undefined>>, context: ToolContext): Promise<object>;
}

/** Checks that a tool's function takes what its schema gives. */
export const defineTool = <T extends v.ObjectEntries>(declared: Declaration<T>): Tool => declared as unknown as Tool;
