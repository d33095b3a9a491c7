/** Reports the progress of a call: `done` of `total`, with a message for users. */
export type Progress = (done: number, total: number, message: string) => void;

/** Minimum time between two notifications of a call, in milliseconds. */
const everyMs = 250;

/**
 * Returns a reporter that sends a call's progress to its client. The protocol requires increasing progress, so other
 * reports are dropped, as are reports in quick succession.
 * @param send sends a notification; closed connections are ignored, because the call ends with its connection
 */
export function progressReporter(
	send: (progress: { readonly progress: number; readonly total: number; readonly message: string }) => Promise<void>,
	now: () => number = () => performance.now(),
): Progress {
	let last = Number.NEGATIVE_INFINITY;
	let sentAt = Number.NEGATIVE_INFINITY;
	return (done, total, message) => {
		if (!(done > last) || now() - sentAt < everyMs) return;
		last = done;
		sentAt = now();
		void send({ progress: done, total, message }).catch(() => undefined);
	};
}

/** Reporter for calls whose client did not request progress. */
export const noProgress: Progress = () => undefined;
