/**
 * Creates a semaphore that admits a limited number of callers in order of arrival; each must call the returned function
 * when it is done.
 */
export function turns(limit: number): () => Promise<() => void> {
	const waiting: (() => void)[] = [];
	let inside = 0;
	const leave = () => {
		const next = waiting.shift();
		// The next caller takes over the released slot.
		if (next === undefined) inside--;
		else next();
	};
	return async () => {
		if (inside < limit) inside++;
		else await new Promise<void>((resolve) => waiting.push(resolve));
		return leave;
	};
}

/** Same as `Promise.all` over a map, with limited concurrency. */
export async function mapAtMost<T, R>(items: readonly T[], limit: number, task: (item: T) => Promise<R>): Promise<R[]> {
	const turn = turns(limit);
	return Promise.all(
		items.map(async (item) => {
			const leave = await turn();
			try {
				return await task(item);
			} finally {
				leave();
			}
		}),
	);
}
