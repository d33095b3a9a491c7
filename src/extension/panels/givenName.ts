import { readAnnotation } from '../../runs/runReader.ts';

/** Minimum interval between reads of the file, in milliseconds. */
const restMs = 1000;

/** The user-assigned name of a run. It is polled because renaming does not trigger an event in the run's tail. */
export class GivenName {
	readonly #run: string;
	#name: string | null = null;
	#lookedAt = Number.NEGATIVE_INFINITY;

	constructor(run: string) {
		this.#run = run;
	}

	/** null if the user has not named the run. */
	get value(): string | null {
		return this.#name;
	}

	/** Reads the name unless it was read within the last second. @returns whether the name changed */
	async look(): Promise<boolean> {
		const now = performance.now();
		if (now - this.#lookedAt < restMs) return false;
		this.#lookedAt = now;
		const before = this.#name;
		const annotation = await readAnnotation(this.#run).catch(() => null);
		this.#name = annotation?.name?.trim() || null;
		return this.#name !== before;
	}
}
