import uPlot from 'uplot';
import type { Theme } from '../theme.ts';
import type { ChartSpec, Layers } from './chartSpec.ts';
import { denseLine } from './denseLine.ts';

/** Each value in a stacked chart covers the interval since the previous row. */
const sinceRowBefore = uPlot.paths.stepped?.({ align: -1 });

/** Returns the uPlot series that draws a layer. */
export function seriesOf(layer: Layers['layers'][number], spec: ChartSpec, theme: Theme): uPlot.Series {
	const stroke = theme.series[layer.color % theme.series.length] ?? theme.foreground;
	const dots = layer.gaps === 'dotted' && layer.role === 'line';
	const base: uPlot.Series = {
		spanGaps: layer.gaps !== 'kept',
		points: { show: dots, size: 5, fill: stroke, stroke },
	};
	// In high contrast, several lines also differ in their dash pattern; a single line is solid.
	const dash = [...theme.dash(spec.lines.findIndex((line) => line.metric === layer.metric))];
	const line = (color: string, width: number): uPlot.Series => ({
		stroke: color,
		width,
		...(dots ? {} : { paths: denseLine(color, width) }),
	});
	switch (layer.role) {
		case 'edge':
			return { ...base, stroke: theme.fill(layer.color, 0.01), width: 0, points: { show: false } };
		case 'raw':
			return { ...base, ...line(theme.fill(layer.color, theme.highContrast ? 0.5 : 0.3), 1) };
		case 'area':
			return {
				...base,
				stroke,
				width: 1,
				// Areas must be opaque where they overlap; otherwise, their colors would mix.
				fill: theme.solid(layer.color, theme.highContrast ? 0.5 : 0.7),
				points: { show: false },
				...(sinceRowBefore === undefined ? {} : { paths: sinceRowBefore }),
			};
		case 'reference':
			return { ...base, stroke: theme.secondary, width: 1, dash: [3, 3], points: { show: false } };
		case 'line':
			// Dashes require a stroked line.
			return dash.length > 0 ? { ...base, stroke, width: 1.5, dash } : { ...base, ...line(stroke, 1.5) };
	}
}
