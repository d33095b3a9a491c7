/** Source of animation frames; replaced in tests. */
export interface FrameSource {
	readonly request: (callback: FrameRequestCallback) => number;
	readonly cancel: (id: number) => void;
}

/**
 * Animation frames that pause while the page is hidden. VS Code keeps a hidden tab's page alive, and the browser
 * continues to send it frames. Requests made while the page is hidden run when it becomes visible again.
 */
export class Frames {
	readonly #source: FrameSource;
	readonly #asked = new Map<number, FrameRequestCallback>();
	/** Browser ids of the requests that are not paused. */
	readonly #coming = new Map<number, number>();
	#last = 0;
	#shown = true;

	constructor(
		source: FrameSource = {
			request: (callback) => requestAnimationFrame(callback),
			cancel: (id) => cancelAnimationFrame(id),
		},
	) {
		this.#source = source;
	}

	/** Whether the page is visible. */
	get shown(): boolean {
		return this.#shown;
	}

	set shown(shown: boolean) {
		if (shown === this.#shown) return;
		this.#shown = shown;
		if (shown) for (const id of this.#asked.keys()) this.#ask(id);
		else {
			for (const coming of this.#coming.values()) this.#source.cancel(coming);
			this.#coming.clear();
		}
	}

	/** Like `requestAnimationFrame`, but pauses while the page is hidden. */
	request(callback: FrameRequestCallback): number {
		this.#last += 1;
		this.#asked.set(this.#last, callback);
		if (this.#shown) this.#ask(this.#last);
		return this.#last;
	}

	cancel(id: number): void {
		this.#asked.delete(id);
		const coming = this.#coming.get(id);
		if (coming !== undefined) this.#source.cancel(coming);
		this.#coming.delete(id);
	}

	#ask(id: number): void {
		const coming = this.#source.request((time) => {
			this.#coming.delete(id);
			const callback = this.#asked.get(id);
			this.#asked.delete(id);
			callback?.(time);
		});
		this.#coming.set(id, coming);
	}
}

/** Animation frames for this page. */
export const frames = new Frames();

/** Draws at most once per animation frame, however often it is scheduled. */
export class Redraw {
	readonly #draw: () => void;
	#frame = 0;

	constructor(draw: () => void) {
		this.#draw = draw;
	}

	schedule(): void {
		if (this.#frame !== 0) return;
		this.#frame = frames.request(() => {
			this.#frame = 0;
			this.#draw();
		});
	}

	dispose(): void {
		frames.cancel(this.#frame);
	}
}

/**
 * Forwards changes immediately. While the page is hidden, collects them and forwards them together when it becomes
 * visible.
 * @param of frame source; default: the page's frames
 */
export function whenShown<T>(
	update: (changes: ReadonlySet<T>) => void,
	of: Frames = frames,
): (changes: ReadonlySet<T>) => void {
	let waiting: Set<T> | null = null;
	return (changes) => {
		if (waiting !== null) {
			for (const change of changes) waiting.add(change);
			return;
		}
		if (of.shown) {
			update(changes);
			return;
		}
		waiting = new Set(changes);
		of.request(() => {
			const gathered = waiting as Set<T>;
			waiting = null;
			update(gathered);
		});
	};
}
