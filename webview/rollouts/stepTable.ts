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

	/** Creates a table from ascending step numbers, with no other data. */
	static without(steps: readonly number[]): StepTable {
		return new StepTable(steps.map((step) => ({ step, stage: null, reward: null, dead: null })).reverse());
	}

	get newest(): number | null {
		return this.rows[0]?.step ?? null;
	}

	/** Returns a table with changed rows replaced and new rows inserted. */
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

	/** Returns the index in `rows` of a step or the nearest older one, or -1 if there are no steps. */
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

	/** Returns the index of exactly this step, or -1 if it has no rollouts. */
	indexOf(step: number): number {
		const at = this.nearest(step);
		return this.rows[at]?.step === step ? at : -1;
	}
}
