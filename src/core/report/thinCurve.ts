/**
 * Downsamples a curve to a maximum number of points, each the mean of neighboring points. Skips non-finite values.
 * @param x ascending, with the same length as y
 */
export function thinCurve(x: ArrayLike<number>, y: ArrayLike<number>, limit: number): { x: number; y: number }[] {
	const known: number[] = [];
	for (let i = 0; i < x.length; i++) if (Number.isFinite(y[i])) known.push(i);
	const each = Math.max(1, Math.ceil(known.length / limit));
	const points: { x: number; y: number }[] = [];
	for (let from = 0; from < known.length; from += each) {
		const part = known.slice(from, from + each);
		const sum = part.reduce((total, i) => total + (y[i] as number), 0);
		// Keep the first and last steps, which are the ends of the axis.
		const at = from === 0 ? part[0] : part.at(-1);
		points.push({ x: x[at as number] as number, y: sum / part.length });
	}
	return points;
}
