/**
 * Exponential moving average of a growing column, with bias correction: s_t = (w s_{t-1} + (1 - w) x_t), divided by 1 -
 * w^n after n values (Kingma and Ba 2015, section 3). Rows without a value have no result and do not affect the
 * average. Only new rows are computed.
 */
export class SmoothedColumn {
	readonly weight: number;
	#values = new Float64Array(0);
	#length = 0;
	#average = 0;
	#rest = 1;

	/** @param weight weight of past values, in [0, 1); 0 disables smoothing */
	constructor(weight: number) {
		this.weight = weight;
	}

	get length(): number {
		return this.#length;
	}

	/** Returns the average at each row in `column`, whose first `length` rows must be those from the previous call. */
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

/** Caches smoothed columns for each metric. The cache is cleared when the weight changes or rows are invalidated. */
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

	/** Invalidates rows from `row` onward. */
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
