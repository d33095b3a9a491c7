import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { canonicalName } from '../../core/metrics/canonicalName.ts';
import { MetricTable, maxColumns } from '../../core/metrics/metricTable.ts';
import type { FrameFile, FramePlace } from '../../files/frame.ts';
import { freshMs } from '../../files/frame.ts';
import { type LineOverviewOptions, overviewLines } from '../../files/lineOverview.ts';
import { parseLooseJson } from '../../files/looseJson.ts';
import type { FaultList } from '../faultList.ts';
import type { PathMatch } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import type { ForeignMetrics } from './foreignRecord.ts';
import { finite } from './foreignStep.ts';
import { openFrames } from './openFrames.ts';
import { stepIn } from './pathPattern.ts';
import type { MetricFiles } from './runFormat.ts';

/** One metrics file, with its read state. */
export class MetricSource {
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
	/** Step in the file's path, if there is one. */
	readonly #step: number | null;
	readonly #names = new Map<string, string>();
	/** Rows from steps before the latest one. They are inserted in batches, since each insertion moves all later rows. */
	#late: LateRow[] = [];

	/** @param seed contents of an older file, which this file repeats in full */
	constructor(folder: string, format: string, files: MetricFiles, match: PathMatch, seed: MetricTable | undefined) {
		this.table = seed ?? new MetricTable();
		this.#folder = folder;
		this.#format = format;
		this.files = files;
		this.match = match;
		this.#step = stepIn(match.parts);
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
			frames = await openFrames(this.#folder, this.match.path, { ...this.files, together: eventsTogether });
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

	/**
	 * Returns rows sampled from throughout a long file that has not been read yet, or null if the file can be read
	 * quickly.
	 */
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
		const hasLines = this.files.form === 'jsonl' || this.files.form === 'lines';
		const line = (number: number) => (hasLines ? number : null);
		for await (const frame of frames.frames(signal, this.#last ?? undefined)) {
			const fault = (words: string) => {
				// Without the row, the same error in several rows would count only once.
				const inRow = this.files.form === 'sqlite' || (this.files.form === 'parquet' && frame.fault === null);
				const message = `${inRow ? `row ${frame.number} ` : ''}${words}`;
				faults.add({ file: this.match.path, line: line(frame.number), message, records: frame.lost ?? 1 });
			};
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
		const context = { file: match.path, parts: match.parts, step: this.#step, record: this.#records++ };
		try {
			return this.files.metrics(record, context);
		} catch (error) {
			return `is invalid (${error instanceof Error ? error.message : String(error)})`;
		}
	}

	#add({ step, time, values, stage = 'train' }: ForeignMetrics, modifiedMs: number): number {
		if (!Number.isFinite(step)) return Number.POSITIVE_INFINITY;
		const seconds = finite(time) ?? Number.NaN;
		if (Number.isNaN(seconds)) this.untimedAt = modifiedMs / 1000;
		const last = this.table.lastStep ?? Number.NEGATIVE_INFINITY;
		const names = Object.keys(values);
		const [only] = names;
		if (step >= last && names.length === 1 && only !== undefined) {
			this.table.put(step, seconds, stage, this.#canonical(only), finite(values[only]));
			return step;
		}
		const named: Record<string, number | null> = {};
		for (const name of names) named[this.#canonical(name)] = finite(values[name]);
		if (step >= last) this.table.append([{ step, time: seconds, stage, values: named }]);
		else {
			this.#late.push({ step, time: seconds, stage, values: notNull(named) });
			const max = Math.min(maxLate, Math.max(minLate, this.table.length >> 4));
			if (this.#late.length >= max) this.#putLate();
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
		if (this.#names.size < maxColumns) this.#names.set(name, canonical);
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

/** Number of events to read at once, because passing on a single event takes as long as reading it. */
const eventsTogether = 256;

/** Minimum number of late rows to insert as a batch. */
const minLate = 256;

const maxLate = 8192;

function notNull(values: Readonly<Record<string, number | null>>): Record<string, number> {
	return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== null));
}

function looseRecord(line: Uint8Array): unknown {
	try {
		return parseLooseJson(Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8'));
	} catch {
		return undefined;
	}
}
