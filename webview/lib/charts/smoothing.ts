/**
 * Exponential moving average of a column that grows, without the pull towards its start:
 * s_t = (w s_{t-1} + (1 - w) x_t), divided by 1 - w^n after n values (Kingma and Ba 2015, section 3). Rows without a value
 * have none in the result and do not change the average. Only new rows are computed.
 */
export class SmoothedColumn {
	readonly weight: number;
	#values = new Float64Array(0);
	#length = 0;
	#average = 0;
	#rest = 1;

	/** @param weight of the past, in [0, 1); 0 changes nothing */
	constructor(weight: number) {
		this.weight = weight;
	}

	get length(): number {
		return this.#length;
	}

	/** The average of each row of `column`, whose first `length` rows are those that were given before. */
	update(column: Float64Array): Float64Array {
		if (column.length > this.#values.length) {
			const grown = new Float64Array(Math.max(256, Math.ceil(column.length * 1.25)));
			grown.set(this.#values.subarray(0, this.#length));
			this.#values = grown;
		}
		const { weight } = this;
		for (let row = this.#length; row < column.length; row++) {
			const value = column[row] as number;
			if (Number.isNaN(value)) {
				this.#values[row] = Number.NaN;
				continue;
			}
			this.#average = weight * this.#average + (1 - weight) * value;
			this.#rest *= weight;
			this.#values[row] = this.#average / (1 - this.#rest);
		}
		this.#length = column.length;
		return this.#values.subarray(0, this.#length);
	}
}

/** Smoothed columns by metric; forgets them when the weight changes or rows are taken back. */
export class Smoother {
	readonly #columns = new Map<string, SmoothedColumn>();
	#weight = 0;

	get weight(): number {
		return this.#weight;
	}

	setWeight(weight: number): void {
		const clamped = Math.min(0.999, Math.max(0, weight));
		if (clamped === this.#weight) return;
		this.#weight = clamped;
		this.#columns.clear();
	}

	/** Rows from `row` on may have changed. */
	invalidateFrom(row: number): void {
		for (const [name, column] of this.#columns) if (column.length > row) this.#columns.delete(name);
	}

	column(name: string, values: Float64Array): Float64Array {
		if (this.#weight === 0) return values;
		let column = this.#columns.get(name);
		if (!column || column.length > values.length) {
			column = new SmoothedColumn(this.#weight);
			this.#columns.set(name, column);
		}
		return column.update(values);
	}
}
