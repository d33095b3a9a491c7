import type { TraceTags } from '../../core/trace/trace.ts';

export interface ReplyPart {
	readonly kind: 'reasoning' | 'content';
	readonly text: string;
}

/**
 * Takes a completion apart while it comes: what is in the think tags is reasoning, the rest is content without answer
 * tags. White space around the two is dropped; what may yet become a tag or a stop text is held back. A stop text ends
 * the content; what follows it is dropped.
 */
export class ReplySplitter {
	readonly #tags: { readonly text: string; readonly kind: 'think' | '/think' | 'answer' | '/answer' | 'stop' }[];
	readonly #verbatim: boolean;
	#mode: ReplyPart['kind'] = 'content';
	/** Nothing of this section has been said: white space before it does not count. */
	#fresh = true;
	#held = '';
	/** White space that counts only if something follows it. */
	#blank = '';
	#stopped: string | null = null;

	/** @param verbatim white space counts everywhere */
	constructor(tags: TraceTags, stop: readonly string[] = [], verbatim = false) {
		this.#verbatim = verbatim;
		this.#tags = [
			...(tags.think ?? []).map((text, i) => ({ text, kind: i === 0 ? ('think' as const) : ('/think' as const) })),
			...(tags.answer ?? []).map((text, i) => ({ text, kind: i === 0 ? ('answer' as const) : ('/answer' as const) })),
			...stop.map((text) => ({ text, kind: 'stop' as const })),
		].filter(({ text }) => text !== '');
	}

	/** The stop text that ended the content; null: none did. */
	get stopped(): string | null {
		return this.#stopped;
	}

	push(text: string): ReplyPart[] {
		return this.#take(text, false);
	}

	/** What the completion begins with and its reader knows already: nothing of it is returned. */
	begin(known: string): void {
		this.#take(known, false);
		this.#blank = '';
		this.#fresh = false;
	}

	/** What was held back. */
	end(): ReplyPart[] {
		return this.#take('', true);
	}

	#take(more: string, end: boolean): ReplyPart[] {
		if (this.#stopped !== null) return [];
		let text = this.#held + more;
		this.#held = '';
		const parts: ReplyPart[] = [];
		while (text !== '' && this.#stopped === null) {
			const next = this.#next(text);
			if (next === null) {
				const keep = end ? 0 : this.#mayBecome(text);
				this.#say(parts, text.slice(0, text.length - keep));
				this.#held = keep === 0 ? '' : text.slice(-keep);
				break;
			}
			this.#say(parts, text.slice(0, next.at));
			text = text.slice(next.at + next.text.length);
			this.#meet(next);
		}
		return parts;
	}

	#meet({ kind, text }: { readonly kind: string; readonly text: string }): void {
		if (kind === 'stop') {
			this.#stopped = text;
			this.#blank = '';
		} else if (kind === 'think' || kind === '/think') {
			this.#mode = kind === 'think' ? 'reasoning' : 'content';
			this.#fresh = true;
			this.#blank = '';
		} else {
			this.#mode = 'content';
		}
	}

	/** The first of the texts that count here; of those at one place the longest. */
	#next(text: string): { readonly at: number; readonly kind: string; readonly text: string } | null {
		let best: { at: number; kind: string; text: string } | null = null;
		for (const tag of this.#tags) {
			if (tag.kind === 'stop' && this.#mode === 'reasoning') continue;
			const at = text.indexOf(tag.text);
			if (at < 0) continue;
			if (best === null || at < best.at || (at === best.at && tag.text.length > best.text.length)) {
				best = { at, ...tag };
			}
		}
		return best;
	}

	/** Length of the longest end of the text that some tag begins with. */
	#mayBecome(text: string): number {
		let longest = 0;
		for (const { text: tag } of this.#tags) {
			for (let n = Math.min(tag.length - 1, text.length); n > longest; n--) {
				if (tag.startsWith(text.slice(-n))) longest = n;
			}
		}
		return longest;
	}

	#say(parts: ReplyPart[], text: string): void {
		let said = this.#blank + text;
		if (this.#fresh && !this.#verbatim) said = said.trimStart();
		const bare = this.#verbatim ? said : said.trimEnd();
		this.#blank = said.slice(bare.length);
		if (bare === '') return;
		this.#fresh = false;
		const last = parts.at(-1);
		if (last?.kind === this.#mode) parts[parts.length - 1] = { kind: this.#mode, text: last.text + bare };
		else parts.push({ kind: this.#mode, text: bare });
	}
}

export interface Reply {
	/** '': there is none. */
	readonly reasoning: string;
	readonly content: string;
	readonly stopped: string | null;
}

/** A whole completion taken apart. @param known what comes before it and is not returned */
export function splitReply(completion: string, tags: TraceTags, stop: readonly string[] = [], known = ''): Reply {
	const splitter = new ReplySplitter(tags, stop);
	if (known !== '') splitter.begin(known);
	const parts = [...splitter.push(completion), ...splitter.end()];
	const text = (kind: ReplyPart['kind']) =>
		parts
			.filter((part) => part.kind === kind)
			.map((part) => part.text)
			.join('');
	return { reasoning: text('reasoning'), content: text('content'), stopped: splitter.stopped };
}
