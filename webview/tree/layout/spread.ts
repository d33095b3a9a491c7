/**
 * The positions nearest to the wished ones (least squares) that keep their order and at least `gap` between neighbors:
 * isotonic regression of the wishes less their places in the row, by pooling adjacent violators.
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
