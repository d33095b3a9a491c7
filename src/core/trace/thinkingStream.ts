import type { TraceTags } from './trace.ts';

/** A piece of a completion: either thinking or text meant for the reader. */
export interface StreamedPart {
	readonly kind: 'thinking' | 'text';
	readonly text: string;
}

/**
 * Splits a streamed completion into thinking and text. The tags themselves are removed. A tag may be split across
 * pieces, so the end of a piece that could start a tag is held back until the next piece.
 */
export class ThinkingStream {
	readonly #tags: readonly { readonly text: string; readonly kind: StreamedPart['kind'] }[];
	#kind: StreamedPart['kind'] = 'text';
	#kept = '';

	/** @param tags tags of the policy's template; if null, everything is text */
	constructor(tags: TraceTags | null) {
		const { think = null, answer = null } = tags ?? {};
		this.#tags = [
			...(think === null ? [] : [{ text: think[0], kind: 'thinking' as const }]),
			...[think?.[1], answer?.[0], answer?.[1]].flatMap((text) => (text ? [{ text, kind: 'text' as const }] : [])),
		].filter(({ text }) => text !== '');
	}

	/** Returns the parts completed by a piece. */
	push(piece: string): StreamedPart[] {
		let rest = this.#kept + piece;
		const parts: StreamedPart[] = [];
		for (;;) {
			const [next] = this.#tags
				.map((tag) => ({ tag, at: rest.indexOf(tag.text) }))
				.filter(({ at }) => at >= 0)
				.sort((a, b) => a.at - b.at || b.tag.text.length - a.tag.text.length);
			if (next === undefined) break;
			this.#add(parts, rest.slice(0, next.at));
			this.#kind = next.tag.kind;
			rest = rest.slice(next.at + next.tag.text.length);
		}
		const kept = this.#startOfTag(rest);
		this.#kept = rest.slice(rest.length - kept);
		this.#add(parts, rest.slice(0, rest.length - kept));
		return parts;
	}

	/** Returns the text held back so far; call this at the end of the completion. */
	end(): StreamedPart[] {
		const parts: StreamedPart[] = [];
		this.#add(parts, this.#kept);
		this.#kept = '';
		return parts;
	}

	#add(parts: StreamedPart[], text: string): void {
		if (text !== '') parts.push({ kind: this.#kind, text });
	}

	/** Returns the length of the longest suffix of the text that could start a tag. */
	#startOfTag(text: string): number {
		let longest = 0;
		for (const { text: tag } of this.#tags) {
			for (let length = Math.min(tag.length - 1, text.length); length > longest; length--) {
				if (text.endsWith(tag.slice(0, length))) longest = length;
			}
		}
		return longest;
	}
}
