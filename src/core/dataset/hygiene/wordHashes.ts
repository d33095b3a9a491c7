import { mix32 } from '../../../base/random.ts';
import { wordsOf } from './words.ts';

/** The FNV prime, and an odd factor whose bit pattern is unrelated to it. */
const [primeLow, primeHigh] = [0x01000193, 0x85ebca6b];
const [basisLow, basisHigh] = [0x811c9dc5, 0x9e3779b9];

const other = 0;
const operator = 1;
const space = 2;
/** Effect of `wordsOf` on each ASCII character: letters and digits map to lowercase, others to their class. */
const folded = new Uint8Array(128).map((_, code) => {
	const character = String.fromCharCode(code);
	if (/[A-Za-z0-9]/.test(character)) return character.toLowerCase().charCodeAt(0);
	if ('-+*/^%=<>|~'.includes(character)) return operator;
	return /\s/.test(character) ? space : other;
});

/**
 * Hashes each word in a string (see `wordsOf`) to 64 bits, stored as two halves. ASCII text is processed without
 * creating strings, which is five times as fast. The arrays are reused for the next string.
 */
export class WordHashes {
	low = new Uint32Array(1024);
	high = new Uint32Array(1024);
	/** Number of words. */
	length = 0;

	read(text: string): this {
		this.length = 0;
		let [low, high] = [basisLow, basisHigh];
		let inWord = false;
		/** Start of the current run of non-whitespace characters, and the number of words before it. */
		let [from, before] = [0, 0];
		for (let i = 0; i < text.length; i++) {
			const code = text.charCodeAt(i);
			if (code >= 128) {
				// Words and normalization never span whitespace, so apply the general rule to this run only.
				let end = i;
				while (end < text.length && folded[text.charCodeAt(end)] !== space) end++;
				this.length = before;
				for (const word of wordsOf(text.slice(from, end))) this.#addWord(word);
				inWord = false;
				[low, high] = [basisLow, basisHigh];
				i = end;
				[from, before] = [end + 1, this.length];
				continue;
			}
			const kind = folded[code] as number;
			if (kind > space) {
				low = Math.imul(low ^ kind, primeLow);
				high = Math.imul(((high << 5) | (high >>> 27)) ^ kind, primeHigh);
				inWord = true;
				continue;
			}
			if (inWord) {
				this.#add(low, high);
				[low, high] = [basisLow, basisHigh];
				inWord = false;
			}
			if (kind === operator) this.#addWord(text[i] as string);
			else if (kind === space) [from, before] = [i + 1, this.length];
		}
		if (inWord) this.#add(low, high);
		return this;
	}

	/** Hash of all words in order. Texts that differ only in case, spacing, or punctuation have the same hash. */
	get all(): readonly [low: number, high: number] {
		let [low, high] = [basisLow, basisHigh];
		for (let i = 0; i < this.length; i++) {
			low = mix32(Math.imul(low, primeLow) ^ (this.low[i] as number));
			high = mix32(Math.imul(high, primeHigh) ^ (this.high[i] as number));
		}
		return [low >>> 0, high >>> 0];
	}

	#addWord(word: string): void {
		let [low, high] = [basisLow, basisHigh];
		for (let i = 0; i < word.length; i++) {
			const code = word.charCodeAt(i);
			low = Math.imul(low ^ code, primeLow);
			high = Math.imul(((high << 5) | (high >>> 27)) ^ code, primeHigh);
		}
		this.#add(low, high);
	}

	#add(low: number, high: number): void {
		if (this.length === this.low.length) {
			this.low = grown(this.low);
			this.high = grown(this.high);
		}
		this.low[this.length] = mix32(low);
		this.high[this.length++] = mix32(high);
	}
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
	const larger = new Uint32Array(array.length * 2);
	larger.set(array);
	return larger;
}
