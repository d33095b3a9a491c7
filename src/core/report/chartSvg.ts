import { formatNumber } from '../../base/format.ts';
import { chartScale } from './chartScale.ts';
import { htmlText } from './htmlText.ts';
import type { ReportChart, ReportPoint, ReportSeries } from './reportDocument.ts';

const size = { width: 420, height: 220, left: 56, right: 12, top: 10, bottom: 36 } as const;
/** Maximum number of series with distinct colors. */
export const chartColors = 6;

/**
 * Renders a chart as an SVG element: axes, one line per series, and a band for points with intervals. Colors are CSS
 * classes from the report style sheet. Without data, only an empty frame is drawn.
 * @param id prefix for element ids that the description uses; must be unique within the page
 */
export function chartSvg(chart: ReportChart, id: string): string {
	const known = chart.series.flatMap(({ points }) => points.filter(isKnown));
	const heights = known.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]);
	const x = chartScale(...extent(known.map((point) => point.x)), 5);
	const y = chartScale(...extent(heights));
	const right = size.width - size.right;
	const bottom = size.height - size.bottom;
	const px = (value: number) => fixed(size.left + ((value - x.low) / (x.high - x.low)) * (right - size.left));
	const py = (value: number) => fixed(bottom - ((value - y.low) / (y.high - y.low)) * (bottom - size.top));
	const parts = [
		`<svg class="chart" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-labelledby="${id}-t ${id}-d">`,
		`<title id="${id}-t">${htmlText(chart.title)}</title><desc id="${id}-d">${htmlText(describeChart(chart))}</desc>`,
	];
	for (const tick of y.ticks) {
		parts.push(`<line class="grid" x1="${size.left}" x2="${right}" y1="${py(tick)}" y2="${py(tick)}"/>`);
		parts.push(
			`<text class="tick" x="${size.left - 6}" y="${fixed(Number(py(tick)) + 4)}" text-anchor="end">${formatNumber(tick)}</text>`,
		);
	}
	// Steps and samples are whole numbers, so there are no values in between.
	const whole = known.every((point) => Number.isInteger(point.x));
	for (const tick of whole ? x.ticks.filter(Number.isInteger) : x.ticks) {
		parts.push(
			`<text class="tick" x="${px(tick)}" y="${bottom + 16}" text-anchor="middle">${formatNumber(tick)}</text>`,
		);
	}
	parts.push(
		`<text class="tick" x="${(size.left + right) / 2}" y="${size.height - 4}" text-anchor="middle">${htmlText(chart.x)}</text>`,
	);
	for (const [i, series] of chart.series.entries()) {
		const color = `s${i % chartColors}`;
		for (const stretch of stretches(series)) {
			const at = ({ x: step, y: value }: ReportPoint) => `${px(step)},${py(value)}`;
			if (stretch.some(({ low, high }) => low !== undefined && high !== undefined)) {
				const upper = stretch.map((point) => at({ x: point.x, y: point.high ?? point.y }));
				const lower = stretch.map((point) => at({ x: point.x, y: point.low ?? point.y })).reverse();
				parts.push(`<polygon class="band ${color}" points="${[...upper, ...lower].join(' ')}"/>`);
			}
			parts.push(`<polyline class="line ${color}" points="${stretch.map(at).join(' ')}"/>`);
			// Draw dots on short lines, where every point matters; a line with a single point would be invisible.
			if (stretch.length > 12) continue;
			for (const point of stretch) {
				parts.push(`<circle class="dot ${color}" cx="${px(point.x)}" cy="${py(point.y)}" r="2.5"/>`);
			}
		}
	}
	parts.push('</svg>');
	return parts.join('');
}

/** Describes a chart in one sentence, for screen readers. */
export function describeChart({ x, series }: ReportChart): string {
	const described = series.map(({ name, points }) => {
		const known = points.filter(isKnown);
		const [first, last] = [known[0], known.at(-1)];
		const lead = name === '' ? '' : `${name}: `;
		if (first === undefined || last === undefined) return `${lead}no values.`;
		const [min, max] = extent(known.map(({ y }) => y));
		return `${lead}${formatNumber(first.y)} at ${x} ${formatNumber(first.x)}, ${formatNumber(last.y)} at ${x} ${formatNumber(last.x)}, between ${formatNumber(min)} and ${formatNumber(max)}.`;
	});
	return described.join(' ');
}

const isKnown = ({ x, y }: ReportPoint) => Number.isFinite(x) && Number.isFinite(y);
const fixed = (value: number) => String(Number(value.toFixed(1)));

function extent(values: readonly number[]): [min: number, max: number] {
	let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
	for (const value of values) {
		if (!Number.isFinite(value)) continue;
		if (value < min) min = value;
		if (value > max) max = value;
	}
	return min > max ? [0, 1] : [min, max];
}

/** Yields the runs of points between gaps. */
function* stretches({ points }: ReportSeries): Iterable<ReportPoint[]> {
	let stretch: ReportPoint[] = [];
	for (const point of points) {
		if (isKnown(point)) stretch.push(point);
		else if (stretch.length > 0) {
			yield stretch;
			stretch = [];
		}
	}
	if (stretch.length > 0) yield stretch;
}
