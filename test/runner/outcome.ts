/** Test outcomes as reported by a worker and counted in the summary. */

export type Status = 'passed' | 'failed' | 'skipped';

export interface Outcome {
	/** Full name: the names of the enclosing suites and the test's own name, joined by " > ". */
	readonly name: string;
	/** Name that selects this test: its own or that of the enclosing test. Undefined for a whole file. */
	readonly filter?: string;
	readonly status: Status;
	readonly milliseconds: number;
	/** Reason for skipping, if the test gives one. */
	readonly reason?: string;
	readonly failure?: TestFailure;
}

export interface TestFailure {
	readonly message: string;
	/** Error stack without frames from Node's test runner. */
	readonly stack: string;
}

/** CPU seconds used by a process and by the children it has waited for. */
export interface Usage {
	readonly own: number;
	readonly children: number;
}

/** Messages from worker to runner. */
export type WorkerMessage =
	| { readonly type: 'ready' }
	| { readonly type: 'outcome'; readonly outcome: Outcome }
	| {
			readonly type: 'file';
			readonly usage: Usage;
			/** The worker's resident memory after the file, in bytes. */
			readonly memory: number;
	  };

/** Message from runner to worker. */
export interface FileRequest {
	/** Absolute path of a test file. */
	readonly file: string;
	readonly timeoutMs: number;
	/** Time that resources opened by the file may take to close after its last test. */
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

/** Formats `N passed, N failed`, plus the number of skipped tests if there are any. */
export function summary({ passed, failed, skipped }: Counts): string {
	return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
