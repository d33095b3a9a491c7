import type { TreeEvent } from '../../../protocol/treeLog.ts';

/** What can be said of a tree in a line. */
export interface TreeFacts {
	/** But for the problem's; a root that is an attempt counts (see SearchTree.nodeCount). */
	readonly nodes: number;
	/** In edges. */
	readonly depth: number;
	/** By the measure of whoever wrote it; null: there are no values and there is no result. */
	readonly best: { readonly path: readonly number[]; readonly value: number | null } | null;
	/** The name of that measure: `Q`, `q_value`, `reward`. */
	readonly measure: string | null;
	/** Further numbers by name, as the format has them: `terminal`, `rootVisits`, `snapshots`. */
	readonly counts: Readonly<Record<string, number>>;
}

export interface ReadTree {
	readonly name: string;
	readonly events: readonly TreeEvent[];
	readonly facts: TreeFacts;
	/** What of it could not be read or is not as it should be, in words. */
	readonly faults: readonly string[];
}

/** How another program writes its trees. Everything that is not told here is done by the same code for all. */
export interface TreeFormat {
	/** `llm-reasoners`, `x1`, ...: as in docs/tree-formats.md. */
	readonly name: string;
	/** For a person: "LLM Reasoners". */
	readonly title: string;
	/** What a file must hold, in words, for the sentence that says what was looked for. */
	readonly looksFor: string;
	/** Whether a parsed JSON file is of this format, by its content. Cheap; never throws. */
	recognise(value: unknown): boolean;
	/** The trees in it, each with a name; an entry is a sentence part ("has no nodes") where it is none. Never throws. */
	trees(value: unknown, limits: TreeLimits): readonly (ReadTree | TreeFault)[];
}

export interface TreeFault {
	/** Which entry of the file. */
	readonly name: string;
	readonly fault: string;
}

/** How much of a file becomes a tree; what is beyond is left out and said. */
export interface TreeLimits {
	/** Of one file. */
	readonly nodes: number;
	readonly trees: number;
}
