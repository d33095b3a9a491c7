import type { MetricsLine } from '../../protocol/metricsLine.ts';

/** Maximum number of points kept per run. Exceeds the pixel width of a screen but is small enough for eight runs. */
export const maxPoints = 4096;
/** Maximum number of metrics kept per run. */
export const maxNames = 400;

/** A run's metrics as points, sent to webviews. NaN means no value. */
export interface CurvePoints {
	/** Step of the last row in each point. */
	readonly step: Float64Array;
	/** Seconds since the epoch. */
	readonly time: Float64Array;
	/** Tokens trained on so far, or NaN if not recorded. */
	readonly tokens: Float64Array;
	readonly names: readonly string[];
	readonly values: readonly Float64Array[];
	/** Rows per point; the last point can have fewer. */
	readonly rowsPerPoint: number;
}

class CurveColumn {
	readonly sums = new Float64Array(maxPoints);
	readonly counts = new Uint32Array(maxPoints);
}

/** Canonical name of the token count metric. */
const tokensName = 'num_tokens';

/**
 * Stores a run's metrics in bounded memory. Rows are averaged into points of 1, 2, 4, ... rows; the number of rows per
 * point doubles whenever {@link maxPoints} is reached. A row with an earlier step removes all later rows, as in a
 * metric table.
 */
export class RunCurves {
	readonly #step = new Float64Array(maxPoints);
	readonly #time = new Float64Array(maxPoints);
	readonly #tokens = new Float64Array(maxPoints).fill(Number.NaN);
	/** Number of rows in each point. */
	readonly #rows = new Uint32Array(maxPoints);
	readonly #columns = new Map<string, CurveColumn>();
	#points = 0;
	#perPoint = 1;
	#lastStep = Number.NEGATIVE_INFINITY;
	#dropped = 0;

	/** Metric names in order of appearance. */
	get names(): readonly string[] {
		return [...this.#columns.keys()];
	}

	get points(): number {
		return this.#points;
	}

	get rowsPerPoint(): number {
		return this.#perPoint;
	}

	/** Number of metrics dropped because of the limit. */
	get droppedNames(): number {
		return this.#dropped;
	}

	get lastStep(): number | null {
		return this.#points === 0 ? null : this.#lastStep;
	}

	/** Whether any point has a token count. */
	get hasTokens(): boolean {
		return this.#tokens.subarray(0, this.#points).some((value) => !Number.isNaN(value));
	}

	clear(): void {
		this.#points = 0;
		this.#perPoint = 1;
		this.#lastStep = Number.NEGATIVE_INFINITY;
		this.#columns.clear();
		this.#dropped = 0;
		this.#tokens.fill(Number.NaN);
		this.#rows.fill(0);
	}

	append(lines: readonly MetricsLine[]): void {
		for (const line of lines) {
			if (!Number.isFinite(line.step)) continue;
			if (line.step < this.#lastStep) this.#takeBack(line.step);
			const same = this.#points > 0 && line.step === this.#lastStep;
			const point = this.#pointFor(same);
			if (!same) this.#rows[point] = (this.#rows[point] as number) + 1;
			this.#step[point] = line.step;
			this.#time[point] = line.time;
			this.#lastStep = line.step;
			for (const name in line.values) {
				const value = line.values[name];
				if (value !== null && value !== undefined) this.#add(name, point, value);
			}
		}
	}

	/** Returns copies of the points, restricted to the given metrics. */
	take(names: Iterable<string>): CurvePoints {
		const end = this.#points;
		const taken = [...names].filter((name) => this.#columns.has(name));
		return {
			step: this.#step.slice(0, end),
			time: this.#time.slice(0, end),
			tokens: this.#tokens.slice(0, end),
			names: taken,
			values: taken.map((name) => this.#means(this.#columns.get(name) as CurveColumn)),
			rowsPerPoint: this.#perPoint,
		};
	}

	#means({ sums, counts }: CurveColumn): Float64Array {
		const means = new Float64Array(this.#points);
		for (let i = 0; i < this.#points; i++) {
			const count = counts[i] as number;
			means[i] = count === 0 ? Number.NaN : (sums[i] as number) / count;
		}
		return means;
	}

	/** Returns the last point, or a new point if the last one is full. */
	#pointFor(sameRow: boolean): number {
		const last = this.#points - 1;
		if (last >= 0 && (sameRow || (this.#rows[last] as number) < this.#perPoint)) return last;
		if (this.#points === maxPoints) {
			this.#halve();
			// All points are full again: the next row starts a new one.
		}
		const point = this.#points;
		this.#points++;
		this.#rows[point] = 0;
		this.#tokens[point] = Number.NaN;
		for (const column of this.#columns.values()) {
			column.sums[point] = 0;
			column.counts[point] = 0;
		}
		return point;
	}

	#halve(): void {
		const half = this.#points / 2;
		for (let i = 0; i < half; i++) {
			const [left, right] = [2 * i, 2 * i + 1];
			this.#step[i] = this.#step[right] as number;
			this.#time[i] = this.#time[right] as number;
			const tokens = this.#tokens[right] as number;
			this.#tokens[i] = Number.isNaN(tokens) ? (this.#tokens[left] as number) : tokens;
			this.#rows[i] = (this.#rows[left] as number) + (this.#rows[right] as number);
			for (const { sums, counts } of this.#columns.values()) {
				sums[i] = (sums[left] as number) + (sums[right] as number);
				counts[i] = (counts[left] as number) + (counts[right] as number);
			}
		}
		this.#points = half;
		this.#perPoint *= 2;
	}

	/** Removes all points from `step` onward. A point that includes `step` is removed entirely. */
	#takeBack(step: number): void {
		let end = this.#points;
		while (end > 0 && (this.#step[end - 1] as number) >= step) end--;
		this.#points = end;
		this.#lastStep = end === 0 ? Number.NEGATIVE_INFINITY : (this.#step[end - 1] as number);
	}

	#add(name: string, point: number, value: number): void {
		if (name === tokensName) this.#tokens[point] = value;
		let column = this.#columns.get(name);
		if (column === undefined) {
			if (this.#columns.size >= maxNames) {
				this.#dropped++;
				return;
			}
			column = new CurveColumn();
			this.#columns.set(name, column);
		}
		column.sums[point] = (column.sums[point] as number) + value;
		column.counts[point] = (column.counts[point] as number) + 1;
	}
}
