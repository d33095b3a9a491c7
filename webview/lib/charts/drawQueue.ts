import { frames } from '../frames.ts';

/** What draws itself at the next chance. */
export interface Drawable {
	draw(): void;
}

/** Time in a frame for drawing: the rest of it is the browser's, which has yet to put the drawings on screen. */
const budgetMs = 10;

export interface FrameClock {
	readonly request: (callback: () => void) => number;
	readonly now: () => number;
}

/**
 * Draws what has changed, once a frame. When that takes longer than there is time, the rest comes first in the next frame: on
 * a slow machine charts then follow in turns, and the page stays quick.
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

/** Of the page. */
export const drawQueue = new DrawQueue();
