const decoder = new TextDecoder('utf-8');
const maxTexts = 1000;
const longestText = 200;

/** Decodes a small set of recurring strings, such as event tags, without creating a new one each time. */
export class RepeatedTexts {
	readonly #known = new Map<number, { readonly bytes: Uint8Array; readonly text: string }>();

	text(bytes: Uint8Array, from: number, to: number): string {
		if (to - from > longestText) return decoder.decode(bytes.subarray(from, to));
		// FNV-1a
		let hash = 0x811c9dc5;
		for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
		const known = this.#known.get(hash);
		if (known !== undefined && isAt(known.bytes, bytes, from, to)) return known.text;
		// Copy the text, because a slice would keep the whole buffer in memory.
		const own = Uint8Array.from(bytes.subarray(from, to));
		const text = decoder.decode(own);
		if (this.#known.size >= maxTexts) this.#known.clear();
		this.#known.set(hash, { bytes: own, text });
		return text;
	}
}

function isAt(wanted: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
	if (wanted.length !== to - from) return false;
	for (let i = 0; i < wanted.length; i++) if (wanted[i] !== bytes[from + i]) return false;
	return true;
}
