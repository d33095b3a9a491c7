import { Disposable } from '../../../src/base/disposable.ts';
import { Emitter } from '../../../src/base/event.ts';
import { nearestRow } from './rowRange.ts';

export type XAxis = 'step' | 'time';
export interface Range {
	readonly min: number;
	readonly max: number;
}

/** Visible range, as saved. */
export interface KeptView extends Range {
	readonly following: boolean;
	readonly growing: boolean;
}

/** State shared by linked charts: x axis, visible range, cursor row, pinned step. */
export class PlotLink extends Disposable {
	readonly #viewChanged = this.register(new Emitter<void>());
	readonly #cursorChanged = this.register(new Emitter<number | null>());
	#step: Float64Array = new Float64Array(0);
	#elapsed: Float64Array = new Float64Array(0);
	#axis: XAxis = 'step';
	#range: Range | null = null;
	#following = true;
	/** Whether the view keeps its start rather than its width while following. */
	#growing = false;
	#cursor: number | null = null;
	/** Step to which the cursor returns when the pointer leaves the chart. */
	#pinned: number | null = null;

	/** Fires when the axis, range or following state changes. */
	readonly onViewChange = this.#viewChanged.event;
	/** Fires when the row at the cursor changes. */
	readonly onCursorChange = this.#cursorChanged.event;

	get axis(): XAxis {
		return this.#axis;
	}

	/** x values of all rows in ascending order: steps, or seconds since the first row. */
	get x(): Float64Array {
		return this.#axis === 'step' ? this.#step : this.#elapsed;
	}

	get elapsed(): Float64Array {
		return this.#elapsed;
	}

	/** null if everything is visible. */
	get range(): Range | null {
		return this.#range;
	}

	/** Whether the view follows new rows. */
	get following(): boolean {
		return this.#following;
	}

	get cursor(): number | null {
		return this.#cursor;
	}

	/** Pinned step; null if none is pinned. */
	get pinned(): number | null {
		return this.#pinned;
	}

	/** Row of the pinned step; null if no step is pinned or its row is not loaded. */
	get pinnedRow(): number | null {
		if (this.#pinned === null) return null;
		const row = nearestRow(this.#step, this.#pinned);
		return this.#step[row] === this.#pinned ? row : null;
	}

	/** Visible range to pass to {@link restore}; null if everything is visible. */
	get kept(): KeptView | null {
		return this.#range && { ...this.#range, following: this.#following, growing: this.#growing };
	}

	/** Restores the saved range before any rows are available. */
	restore(view: KeptView | null, pinned: number | null): void {
		this.#range = view && { min: view.min, max: view.max };
		this.#following = view?.following ?? true;
		this.#growing = view?.growing ?? false;
		this.#pinned = pinned;
		this.#viewChanged.fire();
	}

	/**
	 * Pins the step of a row, so that its values stay visible when the pointer leaves. Pinning the same step again, or
	 * null, unpins it.
	 */
	pin(row: number | null): void {
		const step = row === null ? undefined : this.#step[row];
		this.pinStep(step === undefined || step === this.#pinned ? null : step);
	}

	pinStep(step: number | null): void {
		const before = this.pinnedRow;
		this.#pinned = step;
		// Also remove the cursor held by the pin.
		if (step === null && before !== null && before === this.#cursor) this.setCursor(null);
		this.#viewChanged.fire();
	}

	/** Visible range: the selected range, or all rows. */
	get shown(): Range {
		const { x } = this;
		if (this.#range) return this.#range;
		if (x.length === 0) return { min: 0, max: 1 };
		const [min, max] = [x[0] as number, x[x.length - 1] as number];
		return min === max ? { min: min - 0.5, max: max + 0.5 } : { min, max };
	}

	/** Sets the rows. If the view is following, it moves with them. */
	setRows(step: Float64Array, time: Float64Array): void {
		const end = this.x.at(-1);
		const at = this.#cursor === null ? undefined : this.x[this.#cursor];
		this.#step = step;
		this.#elapsed = elapsedOf(time);
		// Keep the cursor at its position on the axis, because rows may have been inserted before it.
		if (at !== undefined && at <= (this.x.at(-1) ?? Number.NEGATIVE_INFINITY)) this.setCursor(nearestRow(this.x, at));
		else this.leave();
		const newEnd = this.x.at(-1);
		if (this.#following && this.#range && newEnd !== undefined && newEnd !== end) {
			const width = this.#range.max - this.#range.min;
			this.#range = { min: this.#growing ? this.#range.min : newEnd - width, max: newEnd };
		}
	}

	setAxis(axis: XAxis): void {
		if (axis === this.#axis) return;
		// Keep the same rows visible on the other axis.
		const rows = this.#range ? [nearestRow(this.x, this.#range.min), nearestRow(this.x, this.#range.max)] : null;
		this.#axis = axis;
		const [min, max] = rows ? [this.x[rows[0] as number], this.x[rows[1] as number]] : [];
		this.#range = min !== undefined && max !== undefined && min < max ? { min, max } : null;
		this.#viewChanged.fire();
	}

	/** Shows a range and stops following. */
	setRange(range: Range): void {
		const { x } = this;
		if (x.length < 2) return;
		const [first, last] = [x[0] as number, x[x.length - 1] as number];
		const min = Math.max(first, Math.min(range.min, range.max));
		const max = Math.min(last, Math.max(range.min, range.max));
		// Enforce a minimum width of about one row, because the only way out of an empty view would be a reset.
		if (!(max - min >= (last - first) / Math.max(1, x.length * 2))) return;
		this.#growing = false;
		this.#range = min <= first && max >= last ? null : { min, max };
		this.#following = this.#range === null ? this.#following : false;
		this.#viewChanged.fire();
	}

	/** Shows everything from a given position, including future rows. */
	showFrom(min: number): void {
		const end = this.x.at(-1);
		if (end === undefined || min >= end) return;
		this.#range = { min, max: end };
		this.#following = true;
		this.#growing = true;
		this.#viewChanged.fire();
	}

	/** Zooms by a factor (below 1 zooms in) around the cursor or, if there is none, around the center of the view. */
	zoom(factor: number): void {
		const { min, max } = this.shown;
		this.zoomAt(this.#cursor === null ? (min + max) / 2 : (this.x[this.#cursor] ?? (min + max) / 2), factor);
	}

	/** Zooms by a factor (below 1 zooms in) around `center`, which keeps its position. */
	zoomAt(center: number, factor: number): void {
		const { min, max } = this.shown;
		this.setRange({ min: center - (center - min) * factor, max: center + (max - center) * factor });
	}

	/** Pans the visible range by a distance on the axis, clamped to the available rows. @returns whether it moved */
	pan(distance: number): boolean {
		const { x } = this;
		const range = this.#range;
		const [first, last] = [x[0], x[x.length - 1]];
		if (range === null || first === undefined || last === undefined) return false;
		const shift = Math.max(first - range.min, Math.min(last - range.max, distance));
		if (shift === 0) return false;
		this.#range = { min: range.min + shift, max: range.max + shift };
		this.#following = false;
		this.#growing = false;
		this.#viewChanged.fire();
		return true;
	}

	/** Shows everything and starts following. */
	reset(): void {
		this.#range = null;
		this.#growing = false;
		this.#following = true;
		this.#viewChanged.fire();
	}

	/** Starts or stops following. Stopping keeps the current range; starting keeps its width. */
	setFollowing(following: boolean): void {
		if (following === this.#following) return;
		if (!following && this.#range === null && this.x.length > 0) this.#range = this.shown;
		this.#following = following;
		const end = this.x.at(-1);
		if (following && this.#range && end !== undefined) {
			const width = this.#range.max - this.#range.min;
			const all = end - width <= (this.x[0] as number);
			this.#range = all ? null : { min: end - width, max: end };
		}
		this.#viewChanged.fire();
	}

	setCursor(row: number | null): void {
		const valid = row !== null && row >= 0 && row < this.x.length ? row : null;
		if (valid === this.#cursor) return;
		this.#cursor = valid;
		this.#cursorChanged.fire(valid);
	}

	/** Returns the cursor to the pinned step when the pointer leaves. */
	leave(): void {
		this.setCursor(this.pinnedRow);
	}

	/**
	 * Moves the cursor by a number of rows and scrolls it into view. If there is no cursor, starts at the end of the
	 * visible range.
	 */
	moveCursor(rows: number): void {
		const { x } = this;
		if (x.length === 0) return;
		const from = this.#cursor ?? nearestRow(x, this.shown.max);
		this.cursorTo(Math.max(0, Math.min(x.length - 1, this.#cursor === null ? from : from + rows)));
	}

	cursorTo(row: number): void {
		const at = this.x[row];
		if (at === undefined) return;
		const { min, max } = this.shown;
		if (this.#range && (at < min || at > max)) {
			const shift = at < min ? at - min : at - max;
			this.#range = { min: min + shift, max: max + shift };
			this.#following = false;
			this.#viewChanged.fire();
		}
		this.setCursor(row);
	}
}

/** Returns seconds since the first row. The result never decreases, even if the clock was set back. */
export function elapsedOf(time: Float64Array): Float64Array {
	const elapsed = new Float64Array(time.length);
	const start = time[0] ?? 0;
	let last = 0;
	for (let row = 0; row < time.length; row++) {
		const value = (time[row] as number) - start;
		if (value > last) last = value;
		elapsed[row] = last;
	}
	return elapsed;
}
