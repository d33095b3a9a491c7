/** Processes that a fault can hit. */
export const roles = ['engine', 'trainer', 'rewards', 'runner', 'search'] as const;
export type Role = (typeof roles)[number];

/** A piece of work that is disturbed, resumed, and compared with the same work run undisturbed. */
export interface Work {
	/** Folder for its files. Everything it starts has this path in its environment or command line. */
	readonly folder: string;
	/** Starts the work. */
	start(): Promise<void>;
	/** Resumes the work where it was interrupted. */
	resume(): Promise<void>;
	/**
	 * Tries to start the work while it is running. Resolves with the reason for the refusal, or null if it was not
	 * refused.
	 */
	startTwice(): Promise<string | null>;
	/** Returns whether nothing is working on it any longer. */
	isOver(): Promise<boolean>;
	/** Returns whether it finished and there is nothing left to resume. */
	isComplete(): Promise<boolean>;
	/** Returns the results that must equal those of the undisturbed work, whatever happened. */
	outcome(): Promise<unknown>;
	/** Returns a description of why it ended. */
	reason(): Promise<string>;
}

/** A type of work: a recipe or search that a campaign can pick. */
export interface WorkKind {
	readonly name: string;
	/** Roles of the processes it runs. */
	readonly roles: readonly Role[];
	/**
	 * Prepares a piece of work.
	 * @param folder an empty folder
	 * @param seed determines the work
	 * @param environment environment for everything it starts
	 */
	make(folder: string, seed: number, environment: Readonly<Record<string, string>>): Promise<Work>;
}
