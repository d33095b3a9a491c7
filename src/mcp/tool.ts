import type * as v from 'valibot';
import type { Runs } from './runs.ts';

/** Resources available to tools. */
export interface ToolContext {
	readonly runs: Runs;
	readonly signal: AbortSignal;
}

/** An MCP tool: its declaration for clients and its implementation. */
export interface Tool {
	/** Tool name used by clients. */
	readonly name: string;
	readonly title: string;
	/** Description for the model that selects tools. */
	readonly description: string;
	readonly input: v.ObjectSchema<v.ObjectEntries, undefined>;
	/** @param input arguments decoded by `input` */
	run(input: never, context: ToolContext): Promise<object>;
}

interface Declaration<T extends v.ObjectEntries> extends Omit<Tool, 'input' | 'run'> {
	readonly input: v.ObjectSchema<T, undefined>;
	run(input: v.InferOutput<v.ObjectSchema<T, undefined>>, context: ToolContext): Promise<object>;
}

/** Checks that the tool function accepts the type its schema produces. */
export const defineTool = <T extends v.ObjectEntries>(declared: Declaration<T>): Tool => declared as unknown as Tool;
