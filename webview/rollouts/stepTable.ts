import type { StepColumns } from '../../src/protocol/rolloutsMessages.ts';

export interface StepRow {
	readonly step: number;
	readonly stage: string | null;
	readonly reward: number | null;
	readonly dead: number | null;
}

function rowsOf(columns: StepColumns): StepRow[] {
	return columns.step.map((step, i) => ({
		step,
		stage: columns.stages[columns.stage[i] ?? -1] ?? null,
		reward: columns.reward[i] ?? null,
		dead: columns.dead[i] ?? null,
	}));
}

/** Steps with rollouts, newest first. Immutable. */
export class StepTable {
	/** Newest first. */
	readonly rows: readonly StepRow[];

	private constructor(rows: readonly StepRow[]) {
		this.rows = rows;
	}

	static readonly empty = new StepTable([]);

	static of(columns: StepColumns): StepTable {
		return new StepTable(rowsOf(columns).reverse());
	}

	/** Makes a table of steps, ascending, of which only the numbers are known. */
	static without(steps: readonly number[]): StepTable {
		return new StepTable(steps.map((step) => ({ step, stage: null, reward: null, dead: null })).reverse());
	}

	get newest(): number | null {
		return this.rows[0]?.step ?? null;
	}

	/** A table with changed rows replaced and new ones inserted. */
	with(columns: StepColumns): StepTable {
		const changed = new Map(rowsOf(columns).map((row) => [row.step, row]));
		const rows = this.rows.map((row) => {
			const replacement = changed.get(row.step);
			changed.delete(row.step);
			return replacement ?? row;
		});
		if (changed.size === 0) return new StepTable(rows);
		rows.push(...changed.values());
		return new StepTable(rows.sort((a, b) => b.step - a.step));
	}

	/** Position of a step in `rows`, or of the nearest older one; -1: no steps. */
	nearest(step: number): number {
		if (this.rows.length === 0) return -1;
		let low = 0;
		let high = this.rows.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.rows[middle] as StepRow).step > step) low = middle + 1;
			else high = middle;
		}
		return Math.min(low, this.rows.length - 1);
	}

	/** Position of exactly this step; -1: it has no rollouts. */
	indexOf(step: number): number {
		const at = this.nearest(step);
		return this.rows[at]?.step === step ? at : -1;
	}
}
