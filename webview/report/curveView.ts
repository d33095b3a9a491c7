import { formatNumber } from '../../src/base/format.ts';
import { chartScale } from '../../src/core/report/chartScale.ts';
import { append } from '../lib/dom.ts';

const namespace = 'http://www.w3.org/2000/svg';
/** Size and margins in SVG user units. */
const size = { width: 640, height: 220, left: 56, right: 12, top: 10, bottom: 28 } as const;

/** Draws a curve with its axes. @param points steps and values; a missing value leaves a gap */
export function curveView(
	points: readonly (readonly [step: number, value: number | null])[],
	title: string,
): SVGSVGElement {
	const known = points.flatMap(([step, value]) => (value === null ? [] : [[step, value] as const]));
	const steps = known.map(([step]) => step);
	const values = known.map(([, value]) => value);
	const svg = node('svg', { viewBox: `0 0 ${size.width} ${size.height}`, role: 'img', class: 'curve' });
	if (known.length === 0) return svg;
	const y = chartScale(Math.min(...values), Math.max(...values));
	const [first, last] = [Math.min(...steps), Math.max(...steps)];
	const right = size.width - size.right;
	const bottom = size.height - size.bottom;
	const px = (step: number) => size.left + ((step - first) / Math.max(1, last - first)) * (right - size.left);
	const py = (value: number) => bottom - ((value - y.low) / (y.high - y.low)) * (bottom - size.top);
	const start = values[0] as number;
	const end = values.at(-1) as number;
	svg.setAttribute(
		'aria-label',
		`${title}: ${formatNumber(start)} at step ${first}, ${formatNumber(end)} at step ${last}`,
	);
	for (const tick of y.ticks) {
		svg.append(node('line', { class: 'grid', x1: size.left, x2: right, y1: py(tick), y2: py(tick) }));
		svg.append(node('text', { x: size.left - 6, y: py(tick) + 4, 'text-anchor': 'end' }, formatNumber(tick)));
	}
	for (const step of first === last ? [first] : [first, last]) {
		const anchor = step === first && first !== last ? 'start' : 'end';
		svg.append(node('text', { x: px(step), y: bottom + 18, 'text-anchor': anchor }, `step ${step}`));
	}
	for (const stretch of stretchesOf(points)) {
		const path = stretch.map(([step, value]) => `${px(step).toFixed(1)},${py(value).toFixed(1)}`).join(' ');
		svg.append(node('polyline', { class: 'line', points: path }));
		// Mark the points of short lines, because a line with a single point would be invisible.
		if (stretch.length > 12) continue;
		for (const [step, value] of stretch)
			svg.append(node('circle', { class: 'dot', cx: px(step), cy: py(value), r: 2.5 }));
	}
	return svg;
}

/** Splits a curve where values are missing. */
function stretchesOf(points: readonly (readonly [number, number | null])[]): (readonly [number, number])[][] {
	const stretches: (readonly [number, number])[][] = [[]];
	for (const [step, value] of points) {
		if (value === null) stretches.push([]);
		else stretches.at(-1)?.push([step, value]);
	}
	return stretches.filter(({ length }) => length > 0);
}

function node<K extends keyof SVGElementTagNameMap>(
	name: K,
	attributes: Readonly<Record<string, string | number>>,
	text?: string,
): SVGElementTagNameMap[K] {
	const made = document.createElementNS(namespace, name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
	append(made, [text]);
	return made;
}
