import { type AbortSignalLike, Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { Heap } from '../../base/heap.ts';
import { canonicalName } from '../../core/metrics/canonicalName.ts';
import { MetricTable, mostColumns } from '../../core/metrics/metricTable.ts';
import type { FrameFile, FramePlace } from '../../files/frame.ts';
import { freshMs } from '../../files/frame.ts';
import { type LineOverviewOptions, overviewLines } from '../../files/lineOverview.ts';
import { parseLooseJson } from '../../files/looseJson.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { FaultList } from '../faultList.ts';
import { type DiskFolder, type PathMatch, sortMatches } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import type { ForeignMetrics } from './foreignRecord.ts';
import { finite } from './foreignStep.ts';
import { openFrames } from './openFrames.ts';
import { PathPattern, stepIn } from './pathPattern.ts';
import type { MetricFiles, RunFormat } from './runFormat.ts';

/** One metrics file, with the state of reading it. */
class MetricSource {
	readonly files: MetricFiles;
	readonly match: PathMatch;
	readonly #folder: string;
	readonly #format: string;
	table: MetricTable;
	stamp = '';
	/** Write time of the file if its rows contain no times, in seconds since the epoch. */
	untimedAt = Number.NEGATIVE_INFINITY;
	#last: FramePlace | null = null;
	#before: Uint8Array = new Uint8Array(0);
	#records = 0;
	readonly #names = new Map<string, string>();
	/** Rows from steps before the latest one. They are inserted in batches, since each insertion moves all later rows. */
	#late: LateRow[] = [];

	/** @param seed contents of an older file, all of which this one repeats */
	constructor(folder: string, format: string, files: MetricFiles, match: PathMatch, seed: MetricTable | undefined) {
		this.table = seed ?? new MetricTable();
		this.#folder = folder;
		this.#format = format;
		this.files = files;
		this.match = match;
	}

	/**
	 * Reads new rows.
	 * @returns the first step that changed, Infinity if there is none, or null if the file was replaced and everything
	 * read from it is no longer valid
	 */
	async read(found: FoundFile, faults: FaultList, live: boolean, signal?: AbortSignalLike): Promise<number | null> {
		if (found.stamp === this.stamp) return Number.POSITIVE_INFINITY;
		let frames: FrameFile;
		try {
			frames = await openFrames(this.#folder, this.match.path, this.files.form, this.files.largest);
		} catch (error) {
			faults.add({ file: this.match.path, line: null, message: Failure.from(error).message, records: 1 });
			this.stamp = found.stamp;
			return Number.POSITIVE_INFINITY;
		}
		try {
			const before = this.table;
			const grown = await this.#grown(frames);
			if (!grown) {
				faults.forget(this.match.path);
				this.table = new MetricTable();
				this.#last = null;
				this.#records = 0;
			}
			let changed: number | null = await this.#take(frames, faults, live, signal);
			this.stamp = frames.stamp;
			if (!grown && before.length > 0) changed = this.#difference(before);
			return changed;
		} finally {
			await frames.close();
		}
	}

	/** Returns sample rows from all over a long file that has not been read yet, or null if the file is fast to read. */
	async overview(options: LineOverviewOptions): Promise<MetricTable | null> {
		if (this.files.form !== 'jsonl' || this.files.cumulative || this.stamp !== '') return null;
		const lines = await overviewLines(this.#folder, this.match.path, options).catch(() => null);
		if (lines === null) return null;
		const sample = new MetricSource(this.#folder, this.#format, this.files, this.match, undefined);
		for (const line of lines) {
			const rows = sample.#understood(looseRecord(line));
			if (typeof rows !== 'string') for (const row of rows) sample.#add(row, 0);
		}
		sample.#putLate();
		return sample.table;
	}

	/** Returns whether the file has only been appended to since the last read. */
	async #grown(frames: FrameFile): Promise<boolean> {
		if (this.#last === null || this.#last.length === 0) return false;
		const end = this.#last.offset + this.#last.length;
		return frames.size >= end && Buffer.compare(await frames.bytesBefore(end), this.#before) === 0;
	}

	async #take(frames: FrameFile, faults: FaultList, live: boolean, signal?: AbortSignalLike): Promise<number> {
		try {
			return await this.#takeRows(frames, faults, live, signal);
		} finally {
			this.#putLate();
		}
	}

	async #takeRows(frames: FrameFile, faults: FaultList, live: boolean, signal?: AbortSignalLike): Promise<number> {
		let changed = Number.POSITIVE_INFINITY;
		const line = (number: number) => (this.files.form === 'jsonl' ? number : null);
		for await (const frame of frames.frames(signal, this.#last ?? undefined)) {
			const fault = (message: string) =>
				faults.add({ file: this.match.path, line: line(frame.number), message, records: frame.lost ?? 1 });
			if (frame.fault !== null) {
				const fresh = Math.abs(Date.now() - frames.modifiedMs) < freshMs;
				if (!frame.torn || !live || !fresh) fault(frame.fault);
				if (frame.torn) continue;
			}
			this.#last = { offset: frame.offset, length: frame.length, number: frame.number };
			for (const record of frame.records) {
				const rows = this.#understood(record);
				if (typeof rows === 'string') fault(rows);
				else for (const row of rows) changed = Math.min(changed, this.#add(row, frames.modifiedMs));
			}
		}
		if (this.#last !== null) this.#before = await frames.bytesBefore(this.#last.offset + this.#last.length);
		return changed;
	}

	#understood(record: unknown): readonly ForeignMetrics[] | string {
		const { match } = this;
		const context = { file: match.path, parts: match.parts, step: stepIn(match.parts), record: this.#records++ };
		try {
			return this.files.metrics(record, context);
		} catch (error) {
			return `is invalid (${error instanceof Error ? error.message : String(error)})`;
		}
	}

	#add({ step, time, values, stage = 'train' }: ForeignMetrics, modifiedMs: number): number {
		if (!Number.isFinite(step)) return Number.POSITIVE_INFINITY;
		const named: Record<string, number | null> = {};
		for (const name of Object.keys(values)) named[this.#canonical(name)] = finite(values[name]);
		const seconds = finite(time) ?? Number.NaN;
		if (Number.isNaN(seconds)) this.untimedAt = modifiedMs / 1000;
		const last = this.table.length === 0 ? Number.NEGATIVE_INFINITY : (this.table.step.at(-1) as number);
		if (step >= last) this.table.append([{ step, time: seconds, stage, values: named }]);
		else {
			this.#late.push({ step, time: seconds, stage, values: notNull(named) });
			const most = Math.min(maxLate, Math.max(minLate, this.table.length >> 4));
			if (this.#late.length >= most) this.#putLate();
		}
		return step;
	}

	#putLate(): void {
		if (this.#late.length === 0) return;
		this.table.mergeAll(this.#late.sort((a, b) => a.step - b.step));
		this.#late = [];
	}

	/** Caches canonical names, because the same few names occur in every row. */
	#canonical(name: string): string {
		const known = this.#names.get(name);
		if (known !== undefined) return known;
		const canonical = canonicalName(this.#format, name);
		if (this.#names.size < mostColumns) this.#names.set(name, canonical);
		return canonical;
	}

	/** Returns the first step at which the table differs from an earlier one, or null if earlier steps are missing. */
	#difference(before: MetricTable): number | null {
		const after = this.table;
		for (let row = 0; row < before.length; row++) if (after.rowOf(before.step[row] as number) === -1) return null;
		for (let row = 0; row < before.length; row++) {
			const step = before.step[row] as number;
			const now = after.rowOf(step);
			if (now !== row) return after.step[row] as number;
			for (const name of after.names) {
				if (!Object.is(after.value(name, now), before.value(name, row))) return step;
			}
		}
		return after.length > before.length ? (after.step[before.length] as number) : Number.POSITIVE_INFINITY;
	}
}

/** A row whose step precedes the latest one read. */
interface LateRow {
	readonly step: number;
	readonly time: number;
	readonly stage: string;
	readonly values: Readonly<Record<string, number>>;
}

/** Minimum number of late rows to insert as a batch. */
const minLate = 256;
const maxLate = 8192;

function notNull(values: Readonly<Record<string, number | null>>): Record<string, number> {
	return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== null));
}

/** Changes found in a check of the metrics files. */
export interface MetricNews {
	/** Rows from this step on are new or changed; Infinity if there are none. */
	readonly from: number;
	/** Whether files were removed or rewritten, so that previously reported rows are no longer valid. */
	readonly reset: boolean;
}

const none: MetricNews = { from: Number.POSITIVE_INFINITY, reset: false };

/** All metrics of a foreign run, read incrementally and merged by step. */
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

	/** For the follower: returns what is new since its last call, even if another caller has read it in the meantime. */
	async read(signal?: AbortSignalLike): Promise<MetricNews> {
		await this.load(signal);
		const news = this.#news;
		this.#news = none;
		return news;
	}

	/** Reads new rows for callers that need all of them. */
	load(signal?: AbortSignalLike): Promise<void> {
		// Concurrent callers would each start the tables over.
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
				if (files.accepts?.(match.parts) !== false) unsorted.push(match);
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
	 * Returns sample rows of a run with long files, ascending, before the first `read`; null if no file is long. The rows
	 * are not stored.
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

	/** Yields rows from step `from` on in chunks, ascending, with each step once. */
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

	/** Returns times recorded in rows, ascending, in seconds since the epoch: the first one and the latest ones. */
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

	/** Number of metric names beyond the maximum that are not stored. */
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

function looseRecord(line: Uint8Array): unknown {
	try {
		return parseLooseJson(Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8'));
	} catch {
		return undefined;
	}
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
			const told = times[row] as number;
			if (!Number.isNaN(told)) time = Math.max(time, told);
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
