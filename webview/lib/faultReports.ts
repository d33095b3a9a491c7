/** Maximum length of an error report. */
const longest = 20_000;

/**
 * Reports errors in the page's own code to the panel's log: uncaught errors, and errors passed to the returned
 * function.
 */
export function reportFaults(post: (message: string) => void): (message: string) => void {
	const report = (message: string): void => post(message.slice(0, longest));
	window.addEventListener('error', ({ message, error }) => {
		// Not an error: the remaining resize notifications are delivered in the next frame.
		if (message.startsWith('ResizeObserver loop')) return;
		report(error instanceof Error ? (error.stack ?? message) : message);
	});
	window.addEventListener('unhandledrejection', ({ reason }) => report(String(reason?.stack ?? reason)));
	return report;
}
