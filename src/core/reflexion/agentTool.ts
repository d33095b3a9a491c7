import type { Reason } from '../../base/failure.ts';

/** A result of a tool that an answer can cite. */
export interface ToolSource {
	/** Identifier: `docs/a.md:12`, `train.jsonl:3`, a URL, `calculator: 2+2`. */
	readonly source: string;
	readonly title: string | null;
	readonly text: string;
}

export interface ToolOutput {
	readonly sources: readonly ToolSource[];
	/** A remark: "12 more matches". */
	readonly note?: string;
}

/** A tool available to an agent. Its behavior, limits and cancellation are up to the implementation. */
export interface AgentTool {
	/** One word: `workspace`, `calculator`. */
	readonly name: string;
	/** Instructions for the model: how to write a query, and what it returns. */
	readonly description: string;
	/** Whether queries without a tool name go to this tool. */
	readonly searches: boolean;
	/** Rejects with a `Failure`, whose message is passed to the model. */
	run(query: string): Promise<ToolOutput>;
}

/** Failure reasons that may be transient. */
export const passing: ReadonlySet<Reason> = new Set(['unavailable', 'timeout', 'busy']);
