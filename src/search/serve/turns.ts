/** Lets so many in at a time, in the order in which they come; who was let in calls what it got once it is done. */
export function turns(most: number): () => Promise<() => void> {
	const waiting: (() => void)[] = [];
	let inside = 0;
	const leave = () => {
		const next = waiting.shift();
		// Whose turn it is takes the place of who leaves.
		if (next === undefined) inside--;
		else next();
	};
	return async () => {
		if (inside < most) inside++;
		else await new Promise<void>((resolve) => waiting.push(resolve));
		return leave;
	};
}

/** As `Promise.all` over a map, with so many under way at a time. */
export async function mapAtMost<T, R>(items: readonly T[], most: number, task: (item: T) => Promise<R>): Promise<R[]> {
	const turn = turns(most);
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
