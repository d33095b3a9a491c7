/** What a fault may hit. */
export const roles = ['engine', 'trainer', 'rewards', 'runner', 'search'] as const;
export type Role = (typeof roles)[number];

/** A piece of work that is disturbed, resumed and held against the same work undisturbed. */
export interface Work {
	/** Its own files; everything that it starts has this path in its environment or command line. */
	readonly folder: string;
	/** Begins it. */
	start(): Promise<void>;
	/** Begins it again where it was broken off. */
	resume(): Promise<void>;
	/** Tries to begin it while it is running; resolves with why that was refused, or null where it was not. */
	startTwice(): Promise<string | null>;
	/** Nothing works on it any longer. */
	isOver(): Promise<boolean>;
	/** It came to its end, and nothing is left to resume. */
	isComplete(): Promise<boolean>;
	/** What must be equal to the undisturbed work, whatever happened. */
	outcome(): Promise<unknown>;
	/** Why it ended as it did, in words. */
	reason(): Promise<string>;
}

/** Kinds of work: recipes and searches that a campaign draws from. */
export interface WorkKind {
	readonly name: string;
	/** Processes that it has while it runs. */
	readonly roles: readonly Role[];
	/**
	 * Prepares one.
	 * @param folder an empty folder
	 * @param seed the same seed makes the same work
	 * @param environment of all that it starts
	 */
	make(folder: string, seed: number, environment: Readonly<Record<string, string>>): Promise<Work>;
}
