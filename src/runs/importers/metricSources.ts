import { type AbortSignalLike, Sequencer } from '../../base/async.ts';
import { Heap } from '../../base/heap.ts';
import type { MetricTable } from '../../core/metrics/metricTable.ts';
import type { LineOverviewOptions } from '../../files/lineOverview.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { FaultList } from '../faultList.ts';
import { type DiskFolder, type PathMatch, sortMatches } from './diskFolder.ts';
import { MetricSource } from './metricSource.ts';
import { PathPattern } from './pathPattern.ts';
import type { MetricFiles, RunFormat } from './runFormat.ts';

/** Changes found when checking the metrics files. */
export interface MetricNews {
	/** Rows from this step onward are new or changed; Infinity if there are none. */
	readonly from: number;
	/** Whether files were removed or rewritten, so that previously reported rows are no longer valid. */
	readonly reset: boolean;
}

const none: MetricNews = { from: Number.POSITIVE_INFINITY, reset: false };

/** All metrics in a foreign run, read incrementally and merged by step. */
export class MetricSources {
	readonly #disk: DiskFolder;
	readonly #format: RunFormat;
	readonly #faults: FaultList;
	readonly #live: boolean;
	readonly #patterns: ReadonlyMap<MetricFiles, PathPattern>;
	readonly #turns = new Sequencer();
	#news: MetricNews = none;
	#sources = new Map<string, MetricSource>();

	constructor(disk: DiskFolder, format: RunFormat, faults: FaultList, live: boolean) {
		this.#disk = disk;
		this.#format = format;
		this.#faults = faults;
		this.#live = live;
		this.#patterns = new Map(format.metrics.map((files) => [files, new PathPattern(files.pattern)]));
	}

	/** Returns the changes since the follower's last call, even if another caller has read them in the meantime. */
	async read(signal?: AbortSignalLike): Promise<MetricNews> {
		await this.load(signal);
		const news = this.#news;
		this.#news = none;
		return news;
	}

	/** Reads new rows for callers that need all of them. */
	load(signal?: AbortSignalLike): Promise<void> {
		// Concurrent callers would each restart the tables.
		return this.#turns.queue(async () => {
			const { from, reset } = await this.#read(signal);
			this.#news = { from: Math.min(from, this.#news.from), reset: reset || this.#news.reset };
		});
	}

	async #read(signal: AbortSignalLike | undefined): Promise<MetricNews> {
		let from = Number.POSITIVE_INFINITY;
		let reset = false;
		const before = this.#sources;
		const now = new Map<string, MetricSource>();
		const take = (changed: number | null) => {
			if (changed === null) reset = true;
			else from = Math.min(from, changed);
		};
		for (const [files, pattern] of this.#patterns) {
			const unsorted: PathMatch[] = [];
			for await (const match of this.#disk.matches(pattern)) {
				if (files.accepts?.(match.parts) === false) continue;
				if (!(await this.#disk.hasAny(files.unlessThere ?? [], match.parts))) unsorted.push(match);
			}
			const matches = await sortMatches(unsorted);
			if (files.cumulative) matches.reverse();
			for (const match of matches) {
				const found = await this.#disk.stat(match.path);
				if (found === null) continue;
				const key = keyOf(files, match);
				const source = before.get(key) ?? this.#source(files, match);
				const changed = await source.read(found, this.#faults, this.#live, signal);
				now.set(key, source);
				take(changed);
				if (files.cumulative && source.table.length > 0) break;
				if (files.cumulative) now.delete(key);
			}
		}
		for (const [key, source] of before) {
			// A newer file repeats the contents of an older one.
			if (!now.has(key) && source.table.length > 0 && !source.files.cumulative) reset = true;
		}
		this.#sources = now;
		return { from: reset ? Number.NEGATIVE_INFINITY : from, reset };
	}

	#source(files: MetricFiles, match: PathMatch): MetricSource {
		const older = files.cumulative ? [...this.#sources.values()].find((source) => source.files === files) : undefined;
		return new MetricSource(this.#disk.path, this.#format.name, files, match, older?.table);
	}

	/**
	 * Returns sample rows in ascending order from a run with long files, before the first `read`; null if no file is
	 * long. The rows are not stored.
	 */
	async overview(options: LineOverviewOptions = {}): Promise<MetricsLine[] | null> {
		const tables: MetricTable[] = [];
		for (const [files, pattern] of this.#patterns) {
			if (files.form !== 'jsonl') continue;
			for await (const match of this.#disk.matches(pattern)) {
				if (files.accepts?.(match.parts) === false || this.#sources.has(keyOf(files, match))) continue;
				const table = await this.#source(files, match).overview(options);
				if (table !== null) tables.push(table);
				if (tables.length === maxOverviews) break;
			}
		}
		const lines = [...mergedLines(tables, Number.NEGATIVE_INFINITY, 0, Number.POSITIVE_INFINITY)].flat();
		return lines.length === 0 ? null : lines;
	}

	/** Yields rows from step `from` onward in chunks, ascending, with each step once. */
	lines(from = Number.NEGATIVE_INFINITY, portion = 128): Generator<MetricsLine[]> {
		const sources = [...this.#sources.values()];
		const written = sources.reduce((newest, { untimedAt }) => Math.max(newest, untimedAt), 0);
		return mergedLines(
			sources.map(({ table }) => table),
			from,
			written,
			portion,
		);
	}

	/** Latest step with a row, or null if there is none. */
	get lastStep(): number | null {
		let last: number | null = null;
		for (const { table } of this.#sources.values()) {
			const step = table.step.at(-1);
			if (step !== undefined && (last === null || step > last)) last = step;
		}
		return last;
	}

	/** Returns times recorded in rows, ascending, in seconds since the epoch: the first time and the latest ones. */
	recordedTimes(): number[] {
		let first = Number.POSITIVE_INFINITY;
		const newest: number[] = [];
		for (const { table } of this.#sources.values()) {
			for (const time of table.time) if (time < first) first = time;
			for (const time of table.time.slice(-timedRows)) if (!Number.isNaN(time)) newest.push(time);
		}
		newest.sort((a, b) => a - b);
		return first < (newest.at(-timedRows) ?? first) ? [first, ...newest.slice(-timedRows)] : newest.slice(-timedRows);
	}

	/** Time recorded in the row with the highest step, in seconds since the epoch; null if there is none. */
	get latestTime(): number | null {
		let latest: { readonly step: number; readonly time: number } | null = null;
		for (const { table } of this.#sources.values()) {
			const step = table.step.at(-1);
			const time = table.time.at(-1);
			if (step === undefined || time === undefined || Number.isNaN(time)) continue;
			if (latest === null || step > latest.step || (step === latest.step && time > latest.time))
				latest = { step, time };
		}
		return latest?.time ?? null;
	}

	/** Number of metric names that are not stored because the maximum was reached. */
	get dropped(): number {
		return [...this.#sources.values()].reduce((sum, { table }) => sum + table.droppedNames, 0);
	}
}

/** Number of latest rows whose times are used to estimate the pace. */
const timedRows = 64;

/** Maximum number of long files to sample for an overview. */
const maxOverviews = 4;

function keyOf(files: MetricFiles, match: PathMatch): string {
	return `${files.pattern}\n${match.path}`;
}

/**
 * Merges rows from several tables by step.
 * @param written times for rows that contain none
 */
function* mergedLines(
	tables: readonly MetricTable[],
	from: number,
	written: number,
	portion: number,
): Generator<MetricsLine[]> {
	const cursors = tables.map((table, order) => ({
		order,
		table,
		steps: table.step,
		times: table.time,
		columns: table.names.map((name) => [name, table.column(name) as Float64Array] as const),
		row: table.rowAtOrAfter(from),
	}));
	type Cursor = (typeof cursors)[number];
	const stepAt = ({ steps, row }: Cursor) => steps[row] as number;
	// Some trainers write one file per step, so avoid a linear search over ten thousand tables.
	const waiting = new Heap<Cursor>((a, b) => stepAt(a) - stepAt(b) || a.order - b.order);
	for (const cursor of cursors) if (cursor.row < cursor.steps.length) waiting.push(cursor);
	const nextAt = (step: number) => {
		const next = waiting.first;
		return next !== undefined && stepAt(next) === step ? waiting.pop() : undefined;
	};
	let lines: MetricsLine[] = [];
	for (let first = waiting.pop(); first !== undefined; first = waiting.pop()) {
		const step = stepAt(first);
		const values: Record<string, number> = {};
		let time = Number.NEGATIVE_INFINITY;
		let stage = 'train';
		for (let cursor: Cursor | undefined = first; cursor !== undefined; cursor = nextAt(step)) {
			const { table, times, columns, row } = cursor;
			for (const [name, column] of columns) {
				const value = column[row] as number;
				if (!Number.isNaN(value)) values[name] = value;
			}
			const recordedTime = times[row] as number;
			if (!Number.isNaN(recordedTime)) time = Math.max(time, recordedTime);
			stage = table.stageAt(row) ?? stage;
			cursor.row++;
			if (cursor.row < cursor.steps.length) waiting.push(cursor);
		}
		lines.push({ step, time: Number.isFinite(time) ? time : written, stage, values });
		if (lines.length < portion) continue;
		yield lines;
		lines = [];
	}
	if (lines.length > 0) yield lines;
}
