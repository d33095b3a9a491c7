import { deferred } from '../base/async.ts';
import type { MemoryDevice } from '../core/memory/estimateRecipe.ts';

/** Memory that a stage needs on a device. */
export interface StageNeed {
	readonly device: MemoryDevice;
	/** Estimate for the stage, in bytes. */
	readonly bytes: number;
	/** Memory of the device, in bytes. */
	readonly available: number;
}

/** Fraction of a device's memory that stages which run at the same time may use; estimates are within about a fifth. */
const usable = 0.8;

/**
 * The memory that running stages share. A stage waits until its estimate and those of the running ones fit together. A
 * stage that runs alone is never held back, and one whose need is unknown runs alone.
 */
export class MemoryRoom {
	readonly #inside = new Map<string, StageNeed | null>();
	#left = deferred<void>();

	/**
	 * Resolves to true once the stage may start; it must then {@link leave}. Resolves to false if the signal aborts first.
	 * @param onWait called once if the stage has to wait
	 */
	async enter(name: string, need: StageNeed | null, signal: AbortSignal, onWait: () => void): Promise<boolean> {
		for (let waited = false; ; ) {
			if (signal.aborted) return false;
			if (this.#fits(need)) {
				this.#inside.set(name, need);
				return true;
			}
			if (!waited) onWait();
			waited = true;
			const aborted = deferred<void>();
			const abort = () => aborted.resolve();
			signal.addEventListener('abort', abort, { once: true });
			await Promise.race([this.#left.promise, aborted.promise]);
			signal.removeEventListener('abort', abort);
		}
	}

	/** Enters without waiting, for a stage whose run is in progress. */
	hold(name: string, need: StageNeed | null): void {
		this.#inside.set(name, need);
	}

	leave(name: string): void {
		if (!this.#inside.delete(name)) return;
		const { resolve } = this.#left;
		this.#left = deferred<void>();
		resolve();
	}

	#fits(need: StageNeed | null): boolean {
		if (this.#inside.size === 0) return true;
		const inside = [...this.#inside.values()];
		if (need === null || inside.includes(null)) return false;
		const used = inside.reduce((sum, one) => sum + (one?.device === need.device ? one.bytes : 0), 0);
		return used + need.bytes <= usable * need.available;
	}
}
