import uPlot from 'uplot';
import { type Envelope, envelopeOf } from './envelope.ts';

/**
 * If a line has more points than its chart has pixel columns, draws the area that the line covers. This looks the same
 * and is many times faster than stroking every segment. Other lines are drawn point by point.
 *
 * @param thickness line thickness in CSS pixels
 */
export function denseLine(color: string, thickness: number): uPlot.Series.PathBuilder {
	const sparse = uPlot.paths.linear?.();
	return (u, seriesIndex, first, last) => {
		const ratio = Math.max(1, Math.round(devicePixelRatio));
		const { left, width } = u.bbox;
		const columns = Math.ceil(width / ratio) + 2;
		const x = u.data[0];
		const values = u.data[seriesIndex];
		const series = u.series[seriesIndex];
		const { min, max } = u.scales.x ?? {};
		if (last - first <= columns || !values || !series || min === undefined || max === undefined || !(max > min)) {
			return sparse?.(u, seriesIndex, first, last) ?? null;
		}
		const perColumn = (max - min) / (width / ratio);
		// Include one column on either side, so that the line extends to the edges.
		const columnOf = (row: number) =>
			Math.max(0, Math.min(columns - 1, 1 + Math.floor(((x[row] as number) - min) / perColumn)));
		const scale = series.scale ?? 'y';
		const path = outline(envelopeOf(values, first, last, columns, columnOf), {
			xAt: (column) => left + (column - 0.5) * ratio,
			yAt: (value) => u.valToPos(value, scale, true),
			half: (thickness * ratio) / 2,
			bridged: series.spanGaps === true,
		});
		return { stroke: null, fill: new Map([[color, path]]), flags: 0 };
	};
}

interface OutlineOptions {
	/** Center of a column, and position of a value, in device pixels. */
	readonly xAt: (column: number) => number;
	readonly yAt: (value: number) => number;
	/** Half the line thickness. */
	readonly half: number;
	/** Whether gaps are bridged by a line. */
	readonly bridged: boolean;
}

/**
 * Draws one closed shape for each run of columns, along its upper edge and back along its lower edge, and lines between
 * the runs.
 */
function outline({ low, high, first, last, gap }: Envelope, options: OutlineOptions): Path2D {
	const { xAt, yAt, half, bridged } = options;
	const path = new Path2D();
	const run: { readonly x: number; readonly top: number; readonly bottom: number }[] = [];
	const close = (): void => {
		const [start, end] = [run[0], run.at(-1)];
		if (!start || !end) return;
		// Start with the edge of the line, so that a run of a single column is as wide as the line.
		path.moveTo(start.x - half, start.top);
		for (const { x, top } of run) path.lineTo(x, top);
		path.lineTo(end.x + half, end.top);
		path.lineTo(end.x + half, end.bottom);
		for (const { x, bottom } of run.toReversed()) path.lineTo(x, bottom);
		path.lineTo(start.x - half, start.bottom);
		path.closePath();
		run.length = 0;
	};
	let before = -1;
	for (let column = 0; column < low.length; column++) {
		const lowest = low[column] as number;
		if (Number.isNaN(lowest)) continue;
		if (before >= 0 && before !== column - 1) {
			close();
			if (bridged || gap[column] === 0) {
				const [from, to] = [yAt(last[before] as number), yAt(first[column] as number)];
				addLine(path, xAt(before), from, xAt(column), to, half);
			}
		}
		run.push({ x: xAt(column), top: yAt(high[column] as number) - half, bottom: yAt(lowest) + half });
		before = column;
	}
	close();
	return path;
}

/**
 * Draws a straight line of the given thickness as a closed shape, with the same orientation as the runs so that
 * overlaps are filled.
 */
function addLine(path: Path2D, x1: number, y1: number, x2: number, y2: number, half: number): void {
	const length = Math.hypot(x2 - x1, y2 - y1) || 1;
	const [acrossX, acrossY] = [((y2 - y1) / length) * half, ((x2 - x1) / length) * half];
	path.moveTo(x1 + acrossX, y1 - acrossY);
	path.lineTo(x2 + acrossX, y2 - acrossY);
	path.lineTo(x2 - acrossX, y2 + acrossY);
	path.lineTo(x1 - acrossX, y1 + acrossY);
	path.closePath();
}
