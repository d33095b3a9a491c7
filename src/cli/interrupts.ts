/** Calls back for each Ctrl+C (or SIGTERM) with its number, from 1. @returns what ends that */
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
