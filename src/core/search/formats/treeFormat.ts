import type { TreeEvent } from '../../../protocol/treeLog.ts';

/** One-line tree summary. */
export interface TreeFacts {
	/**
	 * Number of nodes, excluding the problem node; a root is counted if it is itself an attempt (see
	 * SearchTree.nodeCount).
	 */
	readonly nodes: number;
	/** Depth in edges. */
	readonly depth: number;
	/** Best node by the metric of the program that wrote the file; null if there are no values and no result. */
	readonly best: { readonly path: readonly number[]; readonly value: number | null } | null;
	/** Metric name: `Q`, `q_value`, `reward`. */
	readonly measure: string | null;
	/** Additional counts, named as in the format: `terminal`, `rootVisits`, `snapshots`. */
	readonly counts: Readonly<Record<string, number>>;
}

export interface ReadTree {
	readonly name: string;
	readonly events: readonly TreeEvent[];
	readonly facts: TreeFacts;
	/** Read errors, for display. */
	readonly faults: readonly string[];
}

/** Tree format used by another program. Shared code handles everything not declared here. */
export interface TreeFormat {
	/** Identifier used in docs/tree-formats.md, such as `llm-reasoners` or `x1`. */
	readonly name: string;
	/** Display name: "LLM Reasoners". */
	readonly title: string;
	/** Description of the required content, shown for unrecognized files. */
	readonly looksFor: string;
	/** Returns whether a parsed JSON file has this format, based on its content. Cheap; never throws. */
	recognize(value: unknown): boolean;
	/** Reads the named trees in a file; an unreadable entry is reported as a phrase ("has no nodes"). Never throws. */
	trees(value: unknown, limits: TreeLimits): readonly (ReadTree | TreeFault)[];
}

export interface TreeFault {
	/** Name of the entry within the file. */
	readonly name: string;
	readonly fault: string;
}

/** Limits on how much of a file is converted into trees; anything beyond them is omitted and reported. */
export interface TreeLimits {
	/** Maximum number of nodes per file. */
	readonly nodes: number;
	readonly trees: number;
}
