import { Failure } from '../../src/base/failure.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import type { MetricTable } from '../../src/core/metrics/metricTable.ts';
import type { ChartExport } from '../../src/protocol/dashboardMessages.ts';
import { rowsWithValues } from '../lib/charts/chartTable.ts';
import { type CsvColumn, fileNameOf, toCsv } from '../lib/charts/csv.ts';
import { chartPicture } from '../lib/charts/exportPng.ts';
import type { PlotLink } from '../lib/charts/plotLink.ts';
import { rowsOfRange } from '../lib/charts/rowRange.ts';
import type { Theme } from '../lib/theme.ts';
import type { ChartCard } from './chartCard.ts';
import { metricsOf } from './chartCatalog.ts';
import type { DashboardModel } from './dashboardModel.ts';

export type SaveFile = (name: string, kind: ChartExport, bytes: Uint8Array<ArrayBuffer>) => Promise<{ saved: boolean }>;

/**
 * Formats step, time, stage and the given metrics as CSV, with recorded names and unsmoothed values, for the visible
 * range.
 */
export function csvOf(table: MetricTable, metrics: readonly string[], rows: Int32Array): string {
	const stages = Array.from({ length: table.length }, (_, row) => table.stageAt(row) ?? '');
	const columns: CsvColumn[] = [
		{ name: 'step', values: table.step },
		{ name: 'time', values: table.time },
		{ name: 'stage', values: stages },
		...metrics.map((name) => ({ name, values: table.column(name) ?? [] })),
	];
	return toCsv(columns, rows);
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Throws if only an overview (a sample of the run) is loaded. */
function checkComplete(model: DashboardModel): void {
	if (!model.loading) return;
	throw new Failure('unavailable', 'The run is still loading.', 'Try again when loading has finished.');
}

export async function exportChart(
	card: ChartCard,
	kind: ChartExport,
	model: DashboardModel,
	link: PlotLink,
	theme: Theme,
	save: SaveFile,
): Promise<void> {
	const { spec } = card;
	const runName = model.run?.name ?? 'run';
	const name = `${fileNameOf(runName, spec.title)}.${kind}`;
	if (kind === 'csv') {
		checkComplete(model);
		const metrics = metricsOf(spec);
		const { from, to } = rowsOfRange(link.x, link.range);
		const rows = rowsWithValues(
			metrics.map((metric) => model.column(metric)),
			from,
			to,
		);
		await save(name, kind, encode(csvOf(model.table, metrics, rows)));
		return;
	}
	card.plot.draw();
	const { canvas } = card.plot;
	if (!canvas)
		throw new Failure(
			'unavailable',
			`${spec.title} has not been rendered yet.`,
			'Scroll to the chart, then save it again.',
		);
	const legend = spec.lines
		.filter((line) => !card.hidden.has(line.metric))
		.map((line) => ({
			label: line.label,
			color: theme.series[line.color % theme.series.length] ?? theme.foreground,
		}));
	const over = spec.lines[0] ? describeMetric(spec.lines[0].metric).over : '';
	const subtitle = pictureSubtitle(runName, link.axis, model.smoother.weight, over);
	await save(name, kind, await chartPicture(canvas, { title: spec.title, subtitle, legend, theme }));
}

/** Returns the subtitle of an exported image, with its settings. */
export function pictureSubtitle(runName: string, axis: PlotLink['axis'], smoothing: number, over: string): string {
	const smoothed = smoothing > 0 ? `, smoothed ${smoothing.toFixed(2)}` : '';
	return `${runName}, ${axis === 'step' ? 'by step' : 'by time'}${smoothed}${over === '' ? '' : `; ${over}`}`;
}

export async function exportAll(model: DashboardModel, link: PlotLink, save: SaveFile): Promise<void> {
	checkComplete(model);
	const { from, to } = rowsOfRange(link.x, link.range);
	const rows = Int32Array.from({ length: to - from }, (_, i) => from + i);
	const text = csvOf(model.table, model.table.names, rows);
	await save(`${fileNameOf(model.run?.name ?? 'run', 'metrics')}.csv`, 'csv', encode(text));
}
