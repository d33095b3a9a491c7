/** Longest report of a fault that a panel takes. */
const longest = 20_000;

/**
 * Tells the panel, for its log, of faults in a page's own code: those that nobody caught, and those handed to the function
 * that it returns.
 */
export function reportFaults(post: (message: string) => void): (message: string) => void {
	const report = (message: string): void => post(message.slice(0, longest));
	window.addEventListener('error', ({ message, error }) => {
		// Not an error: what was measured or resized made others be measured, which are told in the next frame.
		if (message.startsWith('ResizeObserver loop')) return;
		report(error instanceof Error ? (error.stack ?? message) : message);
	});
	window.addEventListener('unhandledrejection', ({ reason }) => report(String(reason?.stack ?? reason)));
	return report;
}
