import type { TreeEvent } from '../../../protocol/treeLog.ts';

/** Summary of a tree in one line. */
export interface TreeFacts {
	/** Excluding the problem node; a root that is an attempt counts (see SearchTree.nodeCount). */
	readonly nodes: number;
	/** In edges. */
	readonly depth: number;
	/** By the measure of the program that wrote it; null if there are no values and no result. */
	readonly best: { readonly path: readonly number[]; readonly value: number | null } | null;
	/** Name of that measure: `Q`, `q_value`, `reward`. */
	readonly measure: string | null;
	/** Further numbers by name, as in the format: `terminal`, `rootVisits`, `snapshots`. */
	readonly counts: Readonly<Record<string, number>>;
}

export interface ReadTree {
	readonly name: string;
	readonly events: readonly TreeEvent[];
	readonly facts: TreeFacts;
	/** Problems found while reading, in words. */
	readonly faults: readonly string[];
}

/** A tree format of another program. Everything not declared here is handled by shared code. */
export interface TreeFormat {
	/** `llm-reasoners`, `x1`, ...: as in docs/tree-formats.md. */
	readonly name: string;
	/** Display name: "LLM Reasoners". */
	readonly title: string;
	/** What a file must contain, in words, for the message on an unrecognized file. */
	readonly looksFor: string;
	/** Whether a parsed JSON file has this format, by its content. Cheap; never throws. */
	recognise(value: unknown): boolean;
	/** Reads the trees of a file, each with a name; an unreadable entry is a phrase ("has no nodes"). Never throws. */
	trees(value: unknown, limits: TreeLimits): readonly (ReadTree | TreeFault)[];
}

export interface TreeFault {
	/** Name of the entry in the file. */
	readonly name: string;
	readonly fault: string;
}

/** Limits on how much of a file becomes a tree; anything beyond is left out and reported. */
export interface TreeLimits {
	/** Per file. */
	readonly nodes: number;
	readonly trees: number;
}
