import type { MetricUnit } from '../../../src/core/metrics/metricInfo.ts';

/** Axis labels for units. An empty label means that the title and ticks imply the unit. */
export const unitLabels: Readonly<Record<MetricUnit, string>> = {
	number: '',
	share: '',
	seconds: 's',
	tokens: 'tokens',
	nats: 'nats',
	rate: '',
	bytes: '',
	celsius: '\u00b0C',
	watts: 'W',
};

export interface ChartLine {
	/** Table column, which also identifies the line. */
	readonly metric: string;
	readonly label: string;
	/** Index into the theme's series colors. */
	readonly color: number;
	/** Hidden by default. */
	readonly initiallyHidden?: boolean;
	/** Whether the line is a reference for other lines; if so, it is drawn thin and never smoothed. */
	readonly reference?: boolean;
}

/** Shaded area around a line. */
export type ChartBand =
	/** Area from `of` minus `by` to `of` plus `by`. */
	| {
			readonly kind: 'spread';
			readonly of: string;
			readonly by: string;
			readonly label: string;
			readonly color: number;
			readonly initiallyHidden?: boolean;
	  }
	/** Area between two columns. */
	| {
			readonly kind: 'between';
			readonly low: string;
			readonly high: string;
			/** Line that the band belongs to; they are hidden together. */
			readonly of: string;
			readonly label: string;
			readonly color: number;
			readonly initiallyHidden?: boolean;
	  };

/** Content of a chart, by column name; `plot.ts` does the drawing. */
export interface ChartSpec {
	readonly id: string;
	readonly title: string;
	readonly kind: 'lines' | 'stack';
	readonly lines: readonly ChartLine[];
	readonly bands: readonly ChartBand[];
	readonly unit: MetricUnit;
	/** `small` for small multiples. */
	readonly size?: 'small';
	/** Minimum range of a linear axis. */
	readonly span?: { readonly min?: number; readonly max?: number };
	/** Label below the axis: "tokens", "s". */
	readonly unitLabel: string;
}

/**
 * How rows without a value between other values are drawn: `kept` as gaps; `bridged` with a line (for a metric recorded
 * every n rows); `dotted` with a line and a dot at each value, never smoothed (for a metric measured occasionally, such
 * as an evaluation).
 */
export type GapStyle = 'kept' | 'bridged' | 'dotted';

/** A column in a uPlot chart. */
export interface Layer {
	readonly role: 'edge' | 'raw' | 'line' | 'reference' | 'area';
	readonly metric: string;
	readonly color: number;
	readonly gaps: GapStyle;
	/** Values of all rows. */
	readonly values: Float64Array;
}

/** Source of columns and their moving averages. */
export interface ColumnSource {
	readonly length: number;
	column(name: string): Float64Array | undefined;
	/** Returns the moving average of a column, or the column if smoothing is off. */
	smoothed(name: string): Float64Array | undefined;
	gaps(name: string): GapStyle;
}

export interface Layers {
	readonly layers: readonly Layer[];
	/** Upper and lower layer of each filled area. */
	readonly areas: readonly { readonly high: number; readonly low: number; readonly color: number }[];
}

/**
 * Returns the layers of a chart, back to front: band edges, raw lines behind their averages, lines. The layers of a
 * stacked chart are running totals, topmost first, so that each area covers those below it.
 */
export function layersOf(
	spec: ChartSpec,
	source: ColumnSource,
	options: { readonly hidden: ReadonlySet<string>; readonly smoothing: boolean },
): Layers {
	const shown = spec.lines.filter(
		(line) => !options.hidden.has(line.metric) && source.column(line.metric) !== undefined,
	);
	return spec.kind === 'stack' ? stackLayers(shown, source) : lineLayers(spec, shown, source, options);
}

function lineLayers(
	spec: ChartSpec,
	shown: readonly ChartLine[],
	source: ColumnSource,
	options: { readonly hidden: ReadonlySet<string>; readonly smoothing: boolean },
): Layers {
	const layers: Layer[] = [];
	const areas: { high: number; low: number; color: number }[] = [];
	for (const band of spec.bands) {
		if (options.hidden.has(band.of) || options.hidden.has(bandKey(band))) continue;
		const edges = bandEdges(band, source);
		if (!edges) continue;
		const edge = (values: Float64Array): number =>
			layers.push({
				role: 'edge',
				metric: bandKey(band),
				color: band.color,
				gaps: source.gaps(band.of),
				values,
			}) - 1;
		areas.push({ high: edge(edges.high), low: edge(edges.low), color: band.color });
	}
	const layer = (line: ChartLine, role: Layer['role'], values: Float64Array): void => {
		layers.push({
			role,
			metric: line.metric,
			color: line.color,
			gaps: source.gaps(line.metric),
			values,
		});
	};
	if (options.smoothing) {
		for (const line of shown) {
			if (source.gaps(line.metric) !== 'dotted' && !line.reference)
				layer(line, 'raw', source.column(line.metric) as Float64Array);
		}
	}
	for (const line of shown) {
		const values = line.reference ? source.column(line.metric) : drawn(line.metric, source);
		if (values) layer(line, line.reference ? 'reference' : 'line', values);
	}
	return { layers, areas };
}

function stackLayers(shown: readonly ChartLine[], source: ColumnSource): Layers {
	const totals: Layer[] = [];
	let below: Float64Array | null = null;
	for (const line of shown) {
		const values = source.smoothed(line.metric) as Float64Array;
		const total = new Float64Array(source.length);
		for (let row = 0; row < total.length; row++) {
			const value = values[row] as number;
			const under: number = below === null ? Number.NaN : (below[row] as number);
			// A missing phase counts as zero unless all phases are missing.
			total[row] = Number.isNaN(value) ? under : (Number.isNaN(under) ? 0 : under) + value;
		}
		totals.push({ role: 'area', metric: line.metric, color: line.color, gaps: 'kept', values: total });
		below = total;
	}
	return { layers: totals.reverse(), areas: [] };
}

/** Returns the hidden lines and bands: those toggled off, and those hidden by default and not toggled on. */
export function hiddenOf(spec: ChartSpec, switched: ReadonlySet<string>): Set<string> {
	const keys = [
		...spec.lines.map((line) => [line.metric, line.initiallyHidden] as const),
		...spec.bands.map((band) => [bandKey(band), band.initiallyHidden] as const),
	];
	return new Set(keys.filter(([key, off]) => switched.has(key) !== (off ?? false)).map(([key]) => key));
}

/** Returns the values of the main line, which are smoothed unless they are individual measurements. */
function drawn(name: string, source: ColumnSource): Float64Array | undefined {
	return source.gaps(name) === 'dotted' ? source.column(name) : source.smoothed(name);
}

/** Returns the key used to hide a band. */
export function bandKey(band: ChartBand): string {
	return band.kind === 'spread' ? `${band.of} \u00b1 ${band.by}` : `${band.low} .. ${band.high}`;
}

function bandEdges(band: ChartBand, source: ColumnSource): { low: Float64Array; high: Float64Array } | null {
	if (band.kind === 'between') {
		const [low, high] = [drawn(band.low, source), drawn(band.high, source)];
		return low && high ? { low, high } : null;
	}
	const [center, spread] = [source.smoothed(band.of), source.smoothed(band.by)];
	if (!center || !spread) return null;
	return {
		low: center.map((value, i) => value - (spread[i] as number)),
		high: center.map((value, i) => value + (spread[i] as number)),
	};
}

/**
 * Returns the layer values at the given rows in uPlot format: null for missing values and, on a log axis, for
 * nonpositive values.
 */
export function columnsAt(layers: readonly Layer[], rows: Int32Array, log: boolean): (number | null)[][] {
	return layers.map(({ values }) => {
		const column = new Array<number | null>(rows.length);
		for (let i = 0; i < rows.length; i++) {
			const value = values[rows[i] as number] as number;
			column[i] = Number.isFinite(value) && (!log || value > 0) ? value : null;
		}
		return column;
	});
}

/** Returns whether there is any value to show on a log axis. */
export function canBeLog(spec: ChartSpec, source: ColumnSource, hidden: ReadonlySet<string>): boolean {
	return spec.lines.some(({ metric }) => !hidden.has(metric) && source.column(metric)?.some((value) => value > 0));
}
