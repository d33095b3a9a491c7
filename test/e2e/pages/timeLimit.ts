/** Settles like `work`, or like `late` on timeout. `work` then continues, but its errors are ignored. */
export async function withLimit<T, L>(work: Promise<T>, milliseconds: number, late: () => L): Promise<T | L> {
	let timer: NodeJS.Timeout | undefined;
	const limit = new Promise<L>((resolve, reject) => {
		timer = setTimeout(() => {
			try {
				resolve(late());
			} catch (error) {
				reject(error);
			}
		}, milliseconds);
	});
	work.catch(() => undefined);
	try {
		return await Promise.race([work, limit]);
	} finally {
		clearTimeout(timer);
	}
}
