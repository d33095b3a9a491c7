import type { MetricsLine } from '../../protocol/metricsLine.ts';

/** Maximum number of columns kept. Needed because a run folder is untrusted input. */
export const maxColumns = 1000;

/** A range of rows as columns of equal length, sent to webviews. Absent and null values are NaN. */
export interface MetricChunk {
	/** Index of the first row. The chunk replaces all rows from that index on. */
	readonly from: number;
	readonly step: Float64Array;
	/** Seconds since the epoch. */
	readonly time: Float64Array;
	/** Index into `stages` for each row. */
	readonly stage: Uint16Array;
	/** All stage names in the table, in order of appearance. */
	readonly stages: readonly string[];
	/** Names of the metrics that have a value in these rows. */
	readonly names: readonly string[];
	/** One column per name. */
	readonly values: readonly Float64Array[];
}

/**
 * Values of one metric, with NaN past its last value. Columns grow at different rows, so that no single row triggers a
 * copy of all the data in a long run.
 */
class Column {
	values: Float64Array<ArrayBuffer>;
	/** Number of rows with a value. */
	count = 0;

	constructor(capacity: number) {
		this.values = new Float64Array(capacity).fill(Number.NaN);
	}

	reserve(length: number): void {
		if (length <= this.values.length) return;
		const grown = new Float64Array(Math.ceil(Math.max(length, this.values.length * 1.25)));
		grown.set(this.values);
		grown.fill(Number.NaN, this.values.length);
		this.values = grown;
	}

	set(row: number, value: number): void {
		if (Number.isNaN(value)) return;
		this.reserve(row + 1);
		if (Number.isNaN(this.values[row])) this.count++;
		this.values[row] = value;
	}

	truncate(length: number, before: number): void {
		const end = Math.min(before, this.values.length);
		for (let row = length; row < end; row++) {
			if (Number.isNaN(this.values[row])) continue;
			this.count--;
			this.values[row] = Number.NaN;
		}
	}
}

/** A run's metrics as growing columns: one row per step, with strictly increasing steps and NaN for missing values. */
export class MetricTable {
	#length = 0;
	#step = new Float64Array(0);
	#time = new Float64Array(0);
	#stage = new Uint16Array(0);
	#stages: string[] = [];
	readonly #columns = new Map<string, Column>();
	/** Columns by position within a line. */
	#order: { readonly name: string; readonly column: Column }[] = [];
	/** Number of names dropped because of the column limit. */
	#dropped = 0;

	get length(): number {
		return this.#length;
	}

	get droppedNames(): number {
		return this.#dropped;
	}

	/** Metric names in order of first appearance. */
	get names(): readonly string[] {
		return [...this.#columns.keys()];
	}

	get stages(): readonly string[] {
		return this.#stages;
	}

	get step(): Float64Array {
		return this.#step.subarray(0, this.#length);
	}

	/** Step of the newest row, or null if there are no rows. */
	get lastStep(): number | null {
		return this.#length === 0 ? null : (this.#step[this.#length - 1] as number);
	}

	get time(): Float64Array {
		return this.#time.subarray(0, this.#length);
	}

	stageAt(row: number): string | undefined {
		return row < 0 || row >= this.#length ? undefined : this.#stages[this.#stage[row] as number];
	}

	has(name: string): boolean {
		return this.#columns.has(name);
	}

	/** Returns a view of the column, which is valid until the table changes. */
	column(name: string): Float64Array | undefined {
		const column = this.#columns.get(name);
		column?.reserve(this.#length);
		return column?.values.subarray(0, this.#length);
	}

	/** Returns the number of rows with a value for the metric. */
	count(name: string): number {
		return this.#columns.get(name)?.count ?? 0;
	}

	value(name: string, row: number): number {
		const column = this.#columns.get(name);
		return column && row >= 0 && row < this.#length ? (column.values[row] ?? Number.NaN) : Number.NaN;
	}

	/** Returns the index of the newest row with a value for the metric, or -1 if there is none. */
	lastRow(name: string): number {
		const column = this.#columns.get(name);
		if (!column) return -1;
		for (let row = Math.min(this.#length, column.values.length) - 1; row >= 0; row--) {
			if (!Number.isNaN(column.values[row])) return row;
		}
		return -1;
	}

	/** Returns the index of the first row whose step is at least `step`, or the table length if there is none. */
	rowAtOrAfter(step: number): number {
		let low = 0;
		let high = this.#length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#step[middle] as number) < step) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	/** Returns the index of the row with exactly this step, or -1 if there is none. */
	rowOf(step: number): number {
		const row = this.rowAtOrAfter(step);
		return row < this.#length && this.#step[row] === step ? row : -1;
	}

	clear(): void {
		this.truncate(0);
		this.#columns.clear();
		this.#order = [];
		this.#stages = [];
		this.#dropped = 0;
	}

	truncate(length: number): void {
		if (length >= this.#length) return;
		for (const column of this.#columns.values()) column.truncate(length, this.#length);
		this.#length = length;
	}

	/**
	 * Appends lines. A line with the newest step is merged into its row. A line with an earlier step means that later
	 * rows were superseded, so they are removed; each step occurs only once.
	 * @returns the index of the first row that changed
	 */
	append(lines: readonly MetricsLine[]): number {
		let changed = this.#length;
		for (const line of lines) {
			if (!Number.isFinite(line.step)) continue;
			const last = this.#length > 0 ? (this.#step[this.#length - 1] as number) : Number.NEGATIVE_INFINITY;
			if (line.step < last) this.truncate(this.rowAtOrAfter(line.step));
			const same = this.#length > 0 && this.#step[this.#length - 1] === line.step;
			const row = same ? this.#length - 1 : this.#addRow(line.step, line.time, line.stage);
			changed = Math.min(changed, row);
			let at = 0;
			for (const name in line.values) {
				const column = this.#columnAt(at++, name);
				const value = line.values[name];
				if (value !== null && value !== undefined) column?.set(row, value);
			}
		}
		return changed;
	}

	/**
	 * Adds one value to the newest row, or to a new one. Like `append` with a one-value line, but three times as fast.
	 * @param step at least the newest step
	 */
	put(step: number, time: number, stage: string, name: string, value: number | null): void {
		const same = this.#length > 0 && this.#step[this.#length - 1] === step;
		const row = same ? this.#length - 1 : this.#addRow(step, time, stage);
		const column = this.#ensure(name);
		if (value !== null) column?.set(row, value);
	}

	/**
	 * Adds values that are identified only by step, such as evaluations read from separate files. Creates the row if
	 * needed.
	 * @returns the index of the first row that changed
	 */
	merge(step: number, time: number, stage: string, values: Readonly<Record<string, number>>): number {
		let row = this.rowOf(step);
		if (row < 0) {
			row = this.rowAtOrAfter(step);
			this.#addRow(step, time, stage);
			this.#moveLastTo(row);
		}
		for (const [name, value] of Object.entries(values)) this.#set(name, row, value);
		return row;
	}

	/**
	 * Like `merge`, but for many lines in ascending step order. Existing rows are moved once rather than once per line.
	 * @returns the index of the first row that changed, or the table length if there are no lines
	 */
	mergeAll(lines: readonly { step: number; time: number; stage: string; values: Readonly<Record<string, number>> }[]) {
		const before = this.#length;
		const fresh: { readonly row: number; readonly line: (typeof lines)[number] }[] = [];
		for (const line of lines) {
			const row = this.rowAtOrAfter(line.step);
			const known = (row < before && this.#step[row] === line.step) || fresh.at(-1)?.line.step === line.step;
			if (!known) fresh.push({ row, line });
		}
		for (const { line } of fresh) this.#addRow(line.step, line.time, line.stage);
		if (fresh.length > 0) this.#spread(before, fresh);
		for (const { step, values } of lines) {
			const row = this.rowOf(step);
			for (const [name, value] of Object.entries(values)) this.#set(name, row, value);
		}
		return lines[0] === undefined ? this.#length : this.rowOf(lines[0].step);
	}

	/** Returns copies of rows `from` to `to` (exclusive). */
	chunk(from: number, to: number): MetricChunk {
		const names: string[] = [];
		const values: Float64Array[] = [];
		for (const [name, column] of this.#columns) {
			if (!hasValue(column.values, from, to)) continue;
			column.reserve(to);
			names.push(name);
			values.push(column.values.slice(from, to));
		}
		return {
			from,
			step: this.#step.slice(from, to),
			time: this.#time.slice(from, to),
			stage: this.#stage.slice(from, to),
			stages: [...this.#stages],
			names,
			values,
		};
	}

	/**
	 * Applies a chunk. Returns false if it does not fit because a preceding chunk is missing or its columns differ in
	 * length.
	 */
	applyChunk(chunk: MetricChunk): boolean {
		const count = chunk.step.length;
		const whole =
			chunk.time.length === count &&
			chunk.stage.length === count &&
			chunk.names.length === chunk.values.length &&
			chunk.values.every((column) => column.length === count);
		if (!whole || chunk.from > this.#length || chunk.from < 0) return false;
		this.truncate(chunk.from);
		this.#grow(chunk.from + count);
		this.#stages = [...chunk.stages];
		this.#step.set(chunk.step, chunk.from);
		this.#time.set(chunk.time, chunk.from);
		this.#stage.set(chunk.stage, chunk.from);
		this.#length = chunk.from + count;
		chunk.names.forEach((name, i) => {
			const column = this.#ensure(name);
			const values = chunk.values[i] as Float64Array;
			if (!column) return;
			column.reserve(chunk.from + count);
			column.values.set(values, chunk.from);
			for (const value of values) if (!Number.isNaN(value)) column.count++;
		});
		return true;
	}

	#addRow(step: number, time: number, stage: string): number {
		const row = this.#length;
		this.#grow(row + 1);
		this.#step[row] = step;
		this.#time[row] = time;
		let index = this.#stages.indexOf(stage);
		if (index < 0 && this.#stages.length < 65_535) index = this.#stages.push(stage) - 1;
		this.#stage[row] = Math.max(0, index);
		this.#length = row + 1;
		return row;
	}

	#moveLastTo(row: number): void {
		const last = this.#length - 1;
		for (const column of this.#columns.values()) column.reserve(this.#length);
		const columns = [...this.#columns.values()].map((column) => column.values);
		for (const column of [this.#step, this.#time, this.#stage, ...columns]) {
			const value = column[last] as number;
			column.copyWithin(row + 1, row, last);
			column[row] = value;
		}
	}

	/** Moves the rows appended after row `before` into position, shifting existing rows. */
	#spread(before: number, added: readonly { readonly row: number }[]): void {
		for (const column of this.#columns.values()) column.reserve(this.#length);
		const columns = [...this.#columns.values()].map((column) => column.values);
		for (const column of [this.#step, this.#time, this.#stage, ...columns]) {
			const values = column.slice(before, this.#length);
			let end = before;
			for (let i = added.length - 1; i >= 0; i--) {
				const { row } = added[i] as { row: number };
				if (row < end) column.copyWithin(row + i + 1, row, end);
				column[row + i] = values[i] as number;
				end = row;
			}
		}
	}

	#ensure(name: string): Column | undefined {
		let column = this.#columns.get(name);
		if (column) return column;
		if (this.#columns.size >= maxColumns) {
			this.#dropped++;
			return undefined;
		}
		column = new Column(Math.max(this.#length, 256) + 16 * (this.#columns.size % 64));
		this.#columns.set(name, column);
		return column;
	}

	/** Returns a column. Tries the one at this position first, because lines usually list metrics in the same order. */
	#columnAt(place: number, name: string): Column | undefined {
		const guess = this.#order[place];
		if (guess !== undefined && guess.name === name) return guess.column;
		const column = this.#ensure(name);
		if (column) this.#order[place] = { name, column };
		return column;
	}

	#set(name: string, row: number, value: number): void {
		this.#ensure(name)?.set(row, value);
	}

	#grow(length: number): void {
		if (length <= this.#step.length) return;
		const capacity = Math.max(256, Math.ceil(length * 1.5));
		const step = new Float64Array(capacity);
		const time = new Float64Array(capacity);
		const stage = new Uint16Array(capacity);
		step.set(this.#step);
		time.set(this.#time);
		stage.set(this.#stage);
		this.#step = step;
		this.#time = time;
		this.#stage = stage;
	}
}

function hasValue(column: Float64Array, from: number, to: number): boolean {
	const end = Math.min(to, column.length);
	for (let row = from; row < end; row++) if (!Number.isNaN(column[row])) return true;
	return false;
}
