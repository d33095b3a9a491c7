/**
 * Returns the positions closest to the desired ones (least squares) that keep the order and a distance of at least
 * `gap` between neighbors. Uses isotonic regression (pool adjacent violators) on the desired positions minus their
 * index times `gap`.
 */
export function spread(wishes: readonly number[], gap: number): number[] {
	const blocks: { sum: number; count: number }[] = [];
	wishes.forEach((wish, i) => {
		let block = { sum: wish - i * gap, count: 1 };
		for (let last = blocks.at(-1); last && last.sum / last.count > block.sum / block.count; last = blocks.at(-1)) {
			blocks.pop();
			block = { sum: last.sum + block.sum, count: last.count + block.count };
		}
		blocks.push(block);
	});
	const positions: number[] = [];
	for (const { sum, count } of blocks) {
		for (let i = 0; i < count; i++) positions.push(sum / count + positions.length * gap);
	}
	return positions;
}
