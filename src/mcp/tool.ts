import type * as v from 'valibot';
import type { Editor } from './editor.ts';
import type { Jobs } from './jobs.ts';
import type { Progress } from './progress.ts';
import type { Runs } from './runs.ts';
import type { Searches } from './searches.ts';

/**
 * Effects of a tool other than reading: run code from the project (`code`), start or stop work (`control`), or
 * write a file that it creates (`write`). `watch` only reads work started by tools with effects, and `show` opens views
 * in the editor that runs the server. All but `none` and `show` are available only if the user allows actions.
 */
export type ToolEffect = 'none' | 'show' | 'watch' | 'write' | 'code' | 'control';

/** Dependencies of tools that act. */
export interface ActionContext {
	/** Path of the embedded engine's entry point. */
	readonly engine: string;
	/** Python interpreter for reward files; null for the default. */
	readonly python: string | null;
	readonly jobs: Jobs;
}

/** Resources available to tools. */
export interface ToolContext {
	readonly runs: Runs;
	readonly searches: Searches;
	readonly signal: AbortSignal;
	/** Reports the progress of a long call to the client. */
	readonly progress: Progress;
	/** null if the user does not allow actions, in which case tools with effects are not available. */
	readonly actions: ActionContext | null;
	/** null if the server was not started by an editor, in which case `show` tools are not available. */
	readonly editor: Editor | null;
}

/** An MCP tool: its declaration for clients and its implementation. */
export interface Tool {
	/** Tool name used by clients. */
	readonly name: string;
	readonly title: string;
	/** Description for the model that selects tools. */
	readonly description: string;
	readonly effect: ToolEffect;
	/** Whether a call can stop work that cannot be resumed without loss. */
	readonly destructive: boolean;
	readonly input: v.ObjectSchema<v.ObjectEntries, undefined>;
	/** @param input arguments decoded by `input` */
	run(input: never, context: ToolContext): Promise<object>;
}

type Said<T extends v.ObjectEntries> = v.InferOutput<v.ObjectSchema<T, undefined>>;
interface Declaration<T extends v.ObjectEntries> extends Pick<Tool, 'name' | 'title' | 'description'> {
	readonly input: v.ObjectSchema<T, undefined>;
}
interface Reading<T extends v.ObjectEntries> extends Declaration<T> {
	run(input: Said<T>, context: ToolContext): Promise<object>;
}
interface Showing<T extends v.ObjectEntries> extends Declaration<T> {
	run(input: Said<T>, context: ToolContext & { readonly editor: Editor }): Promise<object>;
}
interface Acting<T extends v.ObjectEntries> extends Declaration<T> {
	readonly effect: Exclude<ToolEffect, 'none' | 'show'>;
	readonly destructive?: true;
	run(input: Said<T>, context: ToolContext & { readonly actions: ActionContext }): Promise<object>;
}

/** Declares a read-only tool. Checks that the tool function accepts the type its schema produces. */
export const defineTool = <T extends v.ObjectEntries>(declared: Reading<T>): Tool =>
	({ ...declared, effect: 'none', destructive: false }) as unknown as Tool;

/** Declares a tool that shows something in the editor. */
export const defineShowing = <T extends v.ObjectEntries>(declared: Showing<T>): Tool =>
	({ ...declared, effect: 'show', destructive: false }) as unknown as Tool;

/** Declares a tool that acts. */
export const defineAction = <T extends v.ObjectEntries>(declared: Acting<T>): Tool =>
	({ destructive: false, ...declared }) as unknown as Tool;
