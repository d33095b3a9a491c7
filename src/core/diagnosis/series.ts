/** The last `size` values of a series, or fewer if it is shorter. */
export class Recent {
	readonly size: number;
	readonly #values: Float64Array;
	#count = 0;
	#next = 0;

	constructor(size: number) {
		this.size = size;
		this.#values = new Float64Array(size);
	}

	get full(): boolean {
		return this.#count === this.size;
	}

	get count(): number {
		return this.#count;
	}

	push(value: number): void {
		this.#values[this.#next] = value;
		this.#next = (this.#next + 1) % this.size;
		if (this.#count < this.size) this.#count++;
	}

	/** Returns the mean of values `from` to `to` (exclusive), counted from the oldest. NaN if there are none. */
	mean(from = 0, to = this.#count): number {
		let sum = 0;
		for (let i = from; i < to; i++) sum += this.#at(i);
		return sum / (to - from);
	}

	/** Returns the values, oldest first. */
	values(): number[] {
		return Array.from({ length: this.#count }, (_, i) => this.#at(i));
	}

	median(): number {
		return medianOf(this.values());
	}

	clear(): void {
		this.#count = 0;
		this.#next = 0;
	}

	/** Returns the i-th oldest value. */
	#at(i: number): number {
		return this.#values[(this.#next - this.#count + i + this.size) % this.size] as number;
	}
}

/** Mean of the first values in a series. */
export class OpeningMean {
	readonly #size: number;
	#count = 0;
	#sum = 0;

	constructor(size: number) {
		this.#size = size;
	}

	push(value: number): void {
		if (this.#count === this.#size) return;
		this.#count++;
		this.#sum += value;
	}

	/** Mean, or null until enough values have been added. */
	get mean(): number | null {
		return this.#count < this.#size ? null : this.#sum / this.#size;
	}
}

const maxKept = 256;

/** An entire series in bounded memory: every k-th value, where k grows with the length. */
export class Course {
	#values: number[] = [];
	#every = 1;
	#seen = 0;
	#median: number | null = null;

	get count(): number {
		return this.#seen;
	}

	push(value: number): void {
		if (this.#seen++ % this.#every !== 0) return;
		this.#values.push(value);
		this.#median = null;
		if (this.#values.length < maxKept) return;
		this.#values = this.#values.filter((_, i) => i % 2 === 0);
		this.#every *= 2;
	}

	median(): number {
		this.#median ??= medianOf(this.#values);
		return this.#median;
	}
}

/** Returns the sample standard deviation (n - 1), or NaN for fewer than two values. */
export function deviationOf(values: readonly number[]): number {
	const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
	return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

/** Returns the median, or NaN if there are no values. */
export function medianOf(values: readonly number[]): number {
	const sorted = Float64Array.from(values).sort();
	const middle = sorted.length >> 1;
	if (sorted.length % 2 === 1) return sorted[middle] as number;
	return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
