/** Copies the UTF-16 code units of a text to the start of an array that is at least as long. */
export type CopyUnits = (text: string, units: Uint16Array<ArrayBuffer>) => void;

/** Maximum length of the array that is kept for the next text. */
const maxKept = 1 << 20;

/**
 * Copies texts into an array, from which code units are read several times faster than from a string. The array is
 * reused, so it is valid only until the next call.
 */
export class CodeUnits {
	readonly #copy: CopyUnits;
	#units = new Uint16Array(1 << 14);

	/** @param copy a copy function faster than a loop, if the platform has one */
	constructor(copy: CopyUnits = copyUnits) {
		this.#copy = copy;
	}

	/** Returns an array that starts with the code units of `text`. */
	of(text: string): Uint16Array {
		let units = this.#units;
		if (text.length > units.length) {
			units = new Uint16Array(text.length);
			if (text.length <= maxKept) this.#units = units;
		}
		this.#copy(text, units);
		return units;
	}
}

function copyUnits(text: string, units: Uint16Array): void {
	for (let i = 0; i < text.length; i++) units[i] = text.charCodeAt(i);
}
