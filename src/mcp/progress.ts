/** Reports how far a call is: `done` of `total`, with a message for users. */
export type Progress = (done: number, total: number, message: string) => void;

/** Minimum time between two notifications of a call, in milliseconds. */
const everyMs = 250;

/**
 * Returns a reporter that sends a call's progress to its client. The protocol requires that progress increases, so
 * reports that do not are left out, and so are those that follow another one closely.
 * @param send sends a notification; a connection that is gone is ignored, because the call ends with it
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

/** Reporter of a call whose client did not ask for progress. */
export const noProgress: Progress = () => undefined;
