import type { TraceTags } from '../../core/trace/trace.ts';

export interface ReplyPart {
	readonly kind: 'reasoning' | 'content';
	readonly text: string;
}

/**
 * Splits a completion while it streams: text in think tags is reasoning, and the rest is content without answer tags.
 * Whitespace around both is dropped, and text that could still become a tag or a stop sequence is held back. A stop
 * sequence ends the content, and anything after it is dropped.
 */
export class ReplySplitter {
	readonly #tags: { readonly text: string; readonly kind: 'think' | '/think' | 'answer' | '/answer' | 'stop' }[];
	readonly #verbatim: boolean;
	#mode: ReplyPart['kind'] = 'content';
	/** Whether nothing in this section has been returned yet, in which case leading whitespace is dropped. */
	#fresh = true;
	#held = '';
	/** Whitespace that is returned only if something follows it. */
	#blank = '';
	#stopped: string | null = null;

	/** @param verbatim keeps all whitespace */
	constructor(tags: TraceTags, stop: readonly string[] = [], verbatim = false) {
		this.#verbatim = verbatim;
		this.#tags = [
			...(tags.think ?? []).map((text, i) => ({ text, kind: i === 0 ? ('think' as const) : ('/think' as const) })),
			...(tags.answer ?? []).map((text, i) => ({ text, kind: i === 0 ? ('answer' as const) : ('/answer' as const) })),
			...stop.map((text) => ({ text, kind: 'stop' as const })),
		].filter(({ text }) => text !== '');
	}

	/** The stop sequence that ended the content; null if there was none. */
	get stopped(): string | null {
		return this.#stopped;
	}

	push(text: string): ReplyPart[] {
		return this.#take(text, false);
	}

	/** Processes the start of the completion that the client already has, without returning any of it. */
	begin(known: string): void {
		this.#take(known, false);
		this.#blank = '';
		this.#fresh = false;
	}

	/** Returns the text that was held back. */
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

	/**
	 * Finds the first tag or stop sequence that applies in the current section. If several start at the same position,
	 * returns the longest.
	 */
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

	/** Returns the length of the longest suffix of the text that is a prefix of some tag. */
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
	/** Text in the think tags, or '' if there is none. */
	readonly reasoning: string;
	readonly content: string;
	readonly stopped: string | null;
}

/**
 * Splits a whole completion.
 * @param known prefix of the completion, which is not returned
 */
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
