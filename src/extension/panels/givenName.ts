import { readAnnotation } from '../../runs/runReader.ts';

/** Between two looks at the file. */
const restMs = 1000;

/** What a person calls a run, looked up now and then: a rename changes nothing that a tail of the run tells. */
export class GivenName {
	readonly #run: string;
	#name: string | null = null;
	#lookedAt = Number.NEGATIVE_INFINITY;

	constructor(run: string) {
		this.#run = run;
	}

	/** null: the person has not named it. */
	get value(): string | null {
		return this.#name;
	}

	/** Looks unless that was done within the last second. @returns whether the name is another */
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
