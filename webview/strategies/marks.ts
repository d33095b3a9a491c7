import type { Theme } from '../lib/theme.ts';

const namespace = 'http://www.w3.org/2000/svg';

/** Creates an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
	tag: K,
	attributes: Readonly<Record<string, string | number>>,
	...children: readonly Node[]
): SVGElementTagNameMap[K] {
	const node = document.createElementNS(namespace, tag);
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
	node.append(...children);
	return node;
}

/** Mark shapes, so lines can be distinguished without color. */
const shapes = [
	'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z',
	'M-4 -4H4V4H-4Z',
	'M0 -5L5 4H-5Z',
	'M0 -5.5L5.5 0L0 5.5L-5.5 0Z',
	'M0 5L5 -4H-5Z',
	'M-2 -5H2V-2H5V2H2V5H-2V2H-5V-2H-2Z',
	'M0 -5.5L5 -1.5L3.2 4.5H-3.2L-5 -1.5Z',
	'M-5 -5L0 -2L5 -5L2 0L5 5L0 2L-5 5L-2 0Z',
] as const;

export function colorOf(theme: Theme, line: number): string {
	return theme.series[line % theme.series.length] ?? theme.foreground;
}

/** Returns the mark for a line's points. Upper bounds are hollow. */
export function mark(theme: Theme, line: number, hollow: boolean): SVGPathElement {
	return svg('path', {
		d: shapes[line % shapes.length] as string,
		fill: hollow ? theme.background : colorOf(theme, line),
		stroke: colorOf(theme, line),
		'stroke-width': 1.6,
	});
}

/** Returns a standalone line mark, for legends and tables. */
export function markSample(theme: Theme, line: number, hollow: boolean): SVGSVGElement {
	return svg(
		'svg',
		{ viewBox: '-8 -8 16 16', width: 16, height: 16, class: 'mark', 'aria-hidden': 'true' },
		mark(theme, line, hollow),
	);
}
