import { deferred } from '../base/async.ts';
import type { MemoryDevice } from '../core/memory/estimateRecipe.ts';

/** Estimated memory use of a stage on a device. */
export interface StageNeed {
	readonly device: MemoryDevice;
	/** Estimate for the stage, in bytes. */
	readonly bytes: number;
	/** Device memory, in bytes. */
	readonly available: number;
}

/** Fraction of a device's memory available to concurrent stages, because estimates are accurate to about 20%. */
const usable = 0.8;

/**
 * Memory shared by running stages. A stage waits until its estimate fits alongside those of the running stages. If no
 * other stage is running, it starts immediately; a stage whose memory use is unknown runs alone.
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

	/** Enters without waiting, for a stage whose run is already in progress. */
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
