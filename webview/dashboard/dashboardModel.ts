import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { MetricTable } from '../../src/core/metrics/metricTable.ts';
import type { DashboardEvent, DashboardMark, DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import type { ColumnSource, GapStyle } from '../lib/charts/chartSpec.ts';
import { Smoother } from '../lib/charts/smoothing.ts';

export type DashboardChange =
	| { readonly kind: 'run' | 'marks' | 'reset' }
	/** Rows from `row` on are other ones. */
	| { readonly kind: 'rows'; readonly row: number };

/** What the dashboard knows: filled by the panel's events, read by everything that draws. */
export class DashboardModel extends Disposable implements ColumnSource {
	readonly table = new MetricTable();
	readonly smoother = new Smoother();
	readonly #changed = this.register(new Emitter<DashboardChange>());
	readonly #gaps = new Map<string, { readonly length: number; readonly style: GapStyle }>();
	#run: DashboardRun | null = null;
	#runFolder: string | null = null;
	#marks: readonly DashboardMark[] = [];
	#sequence: number | null = null;
	/** Rows of the last snapshot; null: the host is still reading. */
	#expected: number | null = null;
	/** The host's clock minus ours, in seconds. */
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

	/** Whether rows of the last snapshot are still on their way. */
	get loading(): boolean {
		return this.#expected === null || this.table.length < this.#expected;
	}

	/** Seconds since the epoch by the clock of the host. */
	now(): number {
		return Date.now() / 1000 + this.#clock;
	}

	/** @returns false when an event was missed, so that a new snapshot is needed; nothing is changed then */
	apply(event: DashboardEvent): boolean {
		if (event.type === 'snapshot') {
			this.#sequence = event.sequence;
			this.#runFolder = event.runFolder;
			this.#expected = event.rows;
			this.table.clear();
			this.#forgetFrom(0);
			this.#marks = event.marks;
			this.#setRun(event.run);
			this.#changed.fire({ kind: 'reset' });
			return true;
		}
		if (this.#sequence === null || event.sequence !== this.#sequence + 1) return false;
		switch (event.type) {
			case 'loaded':
				this.#expected = event.rows;
				this.#changed.fire({ kind: 'run' });
				break;
			case 'run':
				this.#setRun(event.run);
				this.#changed.fire({ kind: 'run' });
				break;
			case 'marks':
				this.#marks = event.marks;
				this.#changed.fire({ kind: 'marks' });
				break;
			case 'rows': {
				const { from } = event.chunk;
				// What was drawn of these rows is forgotten first: the chunk may replace them.
				if (!this.table.applyChunk(event.chunk)) return false;
				this.#forgetFrom(from);
				this.#changed.fire({ kind: 'rows', row: from });
				break;
			}
		}
		this.#sequence = event.sequence;
		return true;
	}

	/** After a miss nothing is taken until the next snapshot. */
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
		// A guess that holds while the table grows by a tenth.
		if (known && length >= known.length && length < known.length * 1.1) return known.style;
		const style = gapStyle(name, this.table.column(name));
		this.#gaps.set(name, { length, style });
		return style;
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

/** Evaluations are dots that are joined; what is told every few rows is joined; anything else shows its gaps. */
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
