import type { Reason } from '../../base/failure.ts';

/** A tool result that an answer can cite. */
export interface ToolSource {
	/** Source identifier, such as `docs/a.md:12`, `train.jsonl:3`, a URL, or `calculator: 2+2`. */
	readonly source: string;
	readonly title: string | null;
	readonly text: string;
}

export interface ToolOutput {
	readonly sources: readonly ToolSource[];
	/** Note to display, such as "12 more matches". */
	readonly note?: string;
}

/** A tool that an agent can use. Its behavior, limits, and cancellation are up to the implementation. */
export interface AgentTool {
	/** Single-word name, such as `workspace` or `calculator`. */
	readonly name: string;
	/** Instructions for the model: how to write a query, and what the tool returns. */
	readonly description: string;
	/** Whether queries without a tool name are sent to this tool. */
	readonly searches: boolean;
	/** Rejects with a `Failure`, whose message is passed to the model. */
	run(query: string): Promise<ToolOutput>;
}

/** Failure reasons that can be transient. */
export const passing: ReadonlySet<Reason> = new Set(['unavailable', 'timeout', 'busy']);
