import { frames } from '../frames.ts';

/** Object that draws itself when the queue calls it. */
export interface Drawable {
	draw(): void;
}

/** Drawing time per frame, in milliseconds; the browser needs the rest of the frame to display the result. */
const budgetMs = 10;

export interface FrameClock {
	readonly request: (callback: () => void) => number;
	readonly now: () => number;
}

/**
 * Draws changed objects once per frame. If that exceeds the time budget, the remaining objects are drawn first in the
 * next frame, so on slow machines charts update in turn and the page stays responsive.
 */
export class DrawQueue {
	readonly #clock: FrameClock;
	readonly #waiting = new Set<Drawable>();
	#frame = 0;

	constructor(clock: FrameClock = { request: (callback) => frames.request(callback), now: () => performance.now() }) {
		this.#clock = clock;
	}

	add(item: Drawable): void {
		this.#waiting.add(item);
		if (this.#frame === 0) this.#schedule();
	}

	remove(item: Drawable): void {
		this.#waiting.delete(item);
	}

	#schedule(): void {
		this.#frame = this.#clock.request(() => {
			this.#frame = 0;
			const end = this.#clock.now() + budgetMs;
			try {
				for (const item of [...this.#waiting]) {
					if (!this.#waiting.delete(item)) continue;
					item.draw();
					if (this.#clock.now() >= end) break;
				}
			} finally {
				if (this.#waiting.size > 0 && this.#frame === 0) this.#schedule();
			}
		});
	}
}

/** Draw queue for the page. */
export const drawQueue = new DrawQueue();
