/** Where frames come from; tests have their own. */
export interface FrameSource {
	readonly request: (callback: FrameRequestCallback) => number;
	readonly cancel: (id: number) => void;
}

/**
 * Frames of the page, for drawing. The editor keeps a page whose tab is hidden, and the browser gives it frames like any other:
 * while it is hidden whoever asks for one waits, and gets it when somebody sees the page again.
 */
export class Frames {
	readonly #source: FrameSource;
	readonly #asked = new Map<number, FrameRequestCallback>();
	/** The browser's number of each that does not wait. */
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

	/** Whether the page can be seen. */
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

	/** As `requestAnimationFrame`, but for the wait. */
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

/** Of the page. */
export const frames = new Frames();

/**
 * Passes changes on as they come; while the page is hidden they are gathered, and passed on together once it is seen again.
 * @param of the page's by default
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
