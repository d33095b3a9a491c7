/**
 * Calls the listener on each Ctrl+C (or SIGTERM) with a count that starts at 1. @returns a function that unsubscribes
 */
export function onInterrupt(listener: (count: number) => void): () => void {
	let count = 0;
	const interrupted = () => listener(++count);
	process.on('SIGINT', interrupted);
	process.on('SIGTERM', interrupted);
	return () => {
		process.off('SIGINT', interrupted);
		process.off('SIGTERM', interrupted);
	};
}
