/** What tests came to, as a worker reports it and the summary counts it. */

export type Status = 'passed' | 'failed' | 'skipped';

export interface Outcome {
	/** Full name: those of the suites around it, then its own, joined by " > ". */
	readonly name: string;
	/** What selects it by name: itself, or the test around it. Undefined for a whole file. */
	readonly filter?: string;
	readonly status: Status;
	readonly milliseconds: number;
	/** Why it was skipped, where the test says so. */
	readonly reason?: string;
	readonly failure?: TestFailure;
}

export interface TestFailure {
	readonly message: string;
	/** Stack of the error, without frames of Node's test runner. */
	readonly stack: string;
}

/** Seconds of processor time: a process and the children that it has waited for. */
export interface Usage {
	readonly own: number;
	readonly children: number;
}

/** Worker to runner. */
export type WorkerMessage =
	| { readonly type: 'ready' }
	| { readonly type: 'outcome'; readonly outcome: Outcome }
	| {
			readonly type: 'file';
			readonly usage: Usage;
			/** Resident memory of the worker after the file, in bytes. */
			readonly memory: number;
	  };

/** Runner to worker. */
export interface FileRequest {
	/** Absolute path of a test file. */
	readonly file: string;
	readonly timeoutMs: number;
	/** How long what the file has opened may take to close after its last test. */
	readonly closingMs: number;
}

export interface Counts {
	passed: number;
	failed: number;
	skipped: number;
}

export function count(outcomes: Iterable<Outcome>): Counts {
	const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
	for (const { status } of outcomes) counts[status]++;
	return counts;
}

/** `N passed, N failed`, and the skipped tests where there are some. */
export function summary({ passed, failed, skipped }: Counts): string {
	return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
