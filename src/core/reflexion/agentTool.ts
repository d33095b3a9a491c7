import type { Reason } from '../../base/failure.ts';

/** One thing that a tool found; an answer can cite it. */
export interface ToolSource {
	/** What it is known by: `docs/a.md:12`, `train.jsonl:3`, an address, `calculator: 2+2`. */
	readonly source: string;
	readonly title: string | null;
	readonly text: string;
}

export interface ToolOutput {
	readonly sources: readonly ToolSource[];
	/** What else there is to say: "12 more matches". */
	readonly note?: string;
}

/** Something that an agent may ask. What it does, with which limits and how it is cancelled is whoever makes it's business. */
export interface AgentTool {
	/** One word: `workspace`, `calculator`. */
	readonly name: string;
	/** For the model: what to write as a query, and what comes of it. */
	readonly description: string;
	/** A query that names no tool goes to every one that searches. */
	readonly searches: boolean;
	/** Fails with a `Failure`, whose sentence the model is told. */
	run(query: string): Promise<ToolOutput>;
}

/** What may be gone when one tries again. */
export const passing: ReadonlySet<Reason> = new Set(['unavailable', 'timeout', 'busy']);
