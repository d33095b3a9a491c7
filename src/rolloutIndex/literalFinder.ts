import { Sequence, sharedSearch } from './byteSearch.ts';
import type { LiteralBytes } from './indexTasks.ts';

/** Finds the first of several byte sequences in windows of bytes. */
export class LiteralFinder {
	readonly #search = sharedSearch();
	readonly #sequences: readonly Sequence[];
	/** Last position found for each literal. Valid until the search position passes it. */
	readonly #found: number[];
	#bytes: Buffer = Buffer.alloc(0);

	constructor(literals: readonly LiteralBytes[]) {
		this.#sequences = literals.map(({ bytes, ignoreCase }) => new Sequence(bytes, ignoreCase));
		this.#found = literals.map(() => -2);
	}

	begin(bytes: Buffer): void {
		this.#bytes = bytes;
		this.#found.fill(-2);
	}

	/** Returns the start of the first literal at or after a position, or -1 if there is none. */
	next(from: number): number {
		let first = -1;
		for (let i = 0; i < this.#sequences.length; i++) {
			let found = this.#found[i] as number;
			if (found === -2 || (found !== -1 && found < from)) {
				found = this.#search.indexOf(this.#bytes, this.#sequences[i] as Sequence, from);
				this.#found[i] = found;
			}
			if (found !== -1 && (first === -1 || found < first)) first = found;
		}
		return first;
	}
}
