import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { type MetricChunk, MetricTable } from '../../src/core/metrics/metricTable.ts';
import type {
	DashboardAlerts,
	DashboardEvent,
	DashboardMark,
	DashboardRun,
} from '../../src/protocol/dashboardMessages.ts';
import type { ColumnSource, GapStyle } from '../lib/charts/chartSpec.ts';
import { lowerBound } from '../lib/charts/rowRange.ts';
import { Smoother } from '../lib/charts/smoothing.ts';

export type DashboardChange =
	| { readonly kind: 'run' | 'marks' | 'alerts' | 'reset' }
	/** A link to a step or metric was opened. */
	| { readonly kind: 'show'; readonly step: number | null; readonly metric: string | null }
	/** Rows from `row` onward were replaced. */
	| { readonly kind: 'rows'; readonly row: number };

/** Dashboard state, updated by panel events. */
export class DashboardModel extends Disposable implements ColumnSource {
	readonly table = new MetricTable();
	readonly smoother = new Smoother();
	readonly #changed = this.register(new Emitter<DashboardChange>());
	readonly #gaps = new Map<string, { readonly length: number; readonly style: GapStyle }>();
	#run: DashboardRun | null = null;
	#runFolder: string | null = null;
	#marks: readonly DashboardMark[] = [];
	#alerts: DashboardAlerts | null = null;
	#sequence: number | null = null;
	/** Number of rows in the last snapshot; null while the extension is reading the run. */
	#expected: number | null = null;
	/** Number of exact rows; the rows after them are from the overview. */
	#exact = 0;
	#overview: MetricChunk | null = null;
	/** Difference between the extension's clock and the page's clock, in seconds. */
	#clock = 0;

	readonly onChange = this.#changed.event;

	get run(): DashboardRun | null {
		return this.#run;
	}

	get runFolder(): string | null {
		return this.#runFolder;
	}

	get marks(): readonly DashboardMark[] {
		return this.#marks;
	}

	/** null if unknown. */
	get alerts(): DashboardAlerts | null {
		return this.#alerts;
	}

	/**
	 * Whether rows from the last snapshot are still arriving. Until all have arrived, the table can end with overview
	 * rows, which are a sample of the missing rows.
	 */
	get loading(): boolean {
		return this.#expected === null || this.#exact < this.#expected;
	}

	/** Returns the current time on the extension's clock, in seconds since the epoch. */
	now(): number {
		return Date.now() / 1000 + this.#clock;
	}

	/** @returns false if an event was missed, in which case nothing changes and a new snapshot is needed */
	apply(event: DashboardEvent): boolean {
		if (event.type === 'snapshot') {
			this.#sequence = event.sequence;
			this.#runFolder = event.runFolder;
			this.#expected = event.rows;
			this.table.clear();
			this.#exact = 0;
			this.#overview = null;
			this.#forgetFrom(0);
			this.#marks = event.marks;
			this.#alerts = event.alerts ?? null;
			this.#setRun(event.run);
			this.#changed.fire({ kind: 'reset' });
			return true;
		}
		if (this.#sequence === null || event.sequence !== this.#sequence + 1) return false;
		switch (event.type) {
			case 'loaded':
				this.#expected = event.rows;
				this.#spliceOverview();
				this.#changed.fire({ kind: 'rows', row: this.#exact });
				break;
			case 'overview':
				this.#overview = event.chunk;
				this.#spliceOverview();
				this.#changed.fire({ kind: 'rows', row: this.#exact });
				break;
			case 'run':
				this.#setRun(event.run);
				this.#changed.fire({ kind: 'run' });
				break;
			case 'marks':
				this.#marks = event.marks;
				this.#changed.fire({ kind: 'marks' });
				break;
			case 'alerts':
				this.#alerts = event.alerts;
				this.#changed.fire({ kind: 'alerts' });
				break;
			case 'show':
				this.#changed.fire({ kind: 'show', step: event.step, metric: event.metric });
				break;
			case 'rows': {
				const { from } = event.chunk;
				// Must invalidate first, because the chunk can replace these rows.
				if (from > this.#exact || !this.table.applyChunk(event.chunk)) return false;
				this.#exact = this.table.length;
				this.#forgetFrom(from);
				this.#spliceOverview();
				this.#changed.fire({ kind: 'rows', row: from });
				break;
			}
		}
		this.#sequence = event.sequence;
		return true;
	}

	/** After an event was missed, ignores all events until the next snapshot. */
	expectSnapshot(): void {
		this.#sequence = null;
	}

	get length(): number {
		return this.table.length;
	}

	column(name: string): Float64Array | undefined {
		return this.table.column(name);
	}

	smoothed(name: string): Float64Array | undefined {
		const column = this.table.column(name);
		return column && this.smoother.column(name, column);
	}

	gaps(name: string): GapStyle {
		const known = this.#gaps.get(name);
		const { length } = this.table;
		// Recompute only after the table has grown by 10%.
		if (known && length >= known.length && length < known.length * 1.1) return known.style;
		const style = gapStyle(name, this.table.column(name));
		this.#gaps.set(name, { length, style });
		return style;
	}

	/** Appends overview rows for later steps to the rows loaded so far. */
	#spliceOverview(): void {
		if (this.#overview === null) return;
		this.table.truncate(this.#exact);
		this.#forgetFrom(this.#exact);
		if (!this.loading) {
			this.#overview = null;
			this.#gaps.clear();
			return;
		}
		const last = this.table.step.at(-1) ?? Number.NEGATIVE_INFINITY;
		// Discard an inconsistent overview.
		if (!this.table.applyChunk(tailOf(this.#overview, last, this.table))) this.#overview = null;
	}

	#setRun(run: DashboardRun): void {
		this.#run = run;
		this.#clock = run.now - Date.now() / 1000;
	}

	#forgetFrom(row: number): void {
		this.smoother.invalidateFrom(row);
		if (row === 0) this.#gaps.clear();
	}
}

/** Returns the rows in a chunk after a given step, for appending to a table. */
function tailOf(chunk: MetricChunk, step: number, table: MetricTable): MetricChunk {
	const from = lowerBound(chunk.step, step);
	const first = chunk.step[from] === step ? from + 1 : from;
	// Convert stage numbers, which are relative to the chunk.
	const stages = [...new Set([...table.stages, ...chunk.stages])];
	const numbers = chunk.stages.map((stage) => stages.indexOf(stage));
	return {
		from: table.length,
		step: chunk.step.subarray(first),
		time: chunk.time.subarray(first),
		stage: chunk.stage.slice(first).map((number) => numbers[number] ?? 0),
		stages,
		names: chunk.names,
		values: chunk.values.map((column) => column.subarray(first)),
	};
}

/** Returns how to draw gaps: evaluations and sparse metrics are connected across gaps; other metrics are not. */
export function gapStyle(name: string, column: Float64Array | undefined): GapStyle {
	if (name.startsWith('eval/')) return 'dotted';
	if (!column) return 'kept';
	let first = -1;
	let last = -1;
	let count = 0;
	for (let row = 0; row < column.length; row++) {
		if (Number.isNaN(column[row])) continue;
		if (first < 0) first = row;
		last = row;
		count++;
	}
	if (count < 2) return 'dotted';
	return count < 0.75 * (last - first + 1) ? 'bridged' : 'kept';
}
