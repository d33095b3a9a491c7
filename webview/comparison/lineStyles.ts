import type { Theme } from '../lib/theme.ts';

/** Dash pattern of each run, so that runs can be distinguished without color. */
const styles: readonly { readonly name: string; readonly dash: readonly number[] }[] = [
	{ name: 'solid', dash: [] },
	{ name: 'dashed', dash: [9, 4] },
	{ name: 'dotted', dash: [2, 3] },
	{ name: 'dash-dotted', dash: [10, 3, 2, 3] },
	{ name: 'short dashes', dash: [4, 4] },
	{ name: 'long dashes', dash: [16, 5] },
	{ name: 'sparse dots', dash: [2, 7] },
	{ name: 'dash-dot-dotted', dash: [9, 3, 2, 3, 2, 3] },
];

export function styleName(run: number): string {
	return styles[run % styles.length]?.name ?? 'solid';
}

/** Returns the theme with dash patterns, for charts with one line per run. */
export function withLineStyles(theme: Theme, runs: readonly number[]): Theme {
	return { ...theme, dash: (line) => styles[(runs[line] ?? 0) % styles.length]?.dash ?? [] };
}

const namespace = 'http://www.w3.org/2000/svg';

/** Draws a sample of a run's line for a legend. */
export function lineSample(run: number, theme: Theme): SVGSVGElement {
	const svg = document.createElementNS(namespace, 'svg');
	svg.setAttribute('viewBox', '0 0 34 10');
	svg.setAttribute('width', '34');
	svg.setAttribute('height', '10');
	svg.setAttribute('class', 'line-sample');
	svg.setAttribute('aria-hidden', 'true');
	const line = document.createElementNS(namespace, 'path');
	line.setAttribute('d', 'M1 5h32');
	line.setAttribute('stroke', theme.series[run % theme.series.length] ?? theme.foreground);
	line.setAttribute('stroke-width', '2.5');
	const dash = styles[run % styles.length]?.dash ?? [];
	if (dash.length > 0) line.setAttribute('stroke-dasharray', dash.join(' '));
	svg.append(line);
	return svg;
}
