/** Settles like `work`, or as `late` says if that takes longer. `work` goes on, and if it fails later, nobody hears of it. */
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
