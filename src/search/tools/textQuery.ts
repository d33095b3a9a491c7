import { claimTerms } from '../../core/transcript/claimTerms.ts';

/** Search terms of a text query: stemmed content words, verbatim numbers and names, and quoted phrases. */
export interface TextQuery {
	/** Distinct terms in lowercase. */
	readonly terms: readonly string[];
}

const maxTerms = 24;
const longestQuery = 2000;

/** Parses a query, all of which is matched literally. */
export function textQuery(query: string): TextQuery {
	const words = query.slice(0, longestQuery);
	const phrases = [...words.matchAll(/"([^"]{2,200})"/g)].map(([, phrase = '']) => phrase.trim().toLowerCase());
	const names = (words.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [])
		.map((word) => word.replace(/^\.+|\.+$/g, ''))
		.filter((word) => /[\p{N}_]/u.test(word));
	const terms = [...phrases, ...names, ...claimTerms(words)].filter((term) => term.length >= 2 || /\p{N}/u.test(term));
	return { terms: [...new Set(terms)].slice(0, maxTerms) };
}

/** Returns which terms occur in lowercase text, as a bit set. */
export function termsIn(lower: string, { terms }: TextQuery): number {
	let found = 0;
	for (const [i, term] of terms.entries()) if (lower.includes(term)) found |= 1 << i;
	return found;
}

export interface Match<T> {
	readonly place: T;
	/** Terms that occur, as a bit set. */
	readonly terms: number;
}

/**
 * Keeps the best of many matches as they arrive, ranked by the rarity of their terms (ln(1 + N / n), Spärck Jones 1972,
 * over documents); ties go to the first match.
 */
export class BestMatches<T> {
	readonly #most: number;
	readonly #counts: number[];
	#documents = 0;
	#held: Match<T>[] = [];
	/** Number of locations that contain any of the terms. */
	total = 0;

	constructor(query: TextQuery, limit = 400) {
		this.#counts = query.terms.map(() => 0);
		this.#most = limit;
	}

	/** @param terms all terms that occur in one document */
	document(terms: number): void {
		this.#documents++;
		for (let i = 0; i < this.#counts.length; i++) {
			if ((terms & (1 << i)) !== 0) this.#counts[i] = (this.#counts[i] as number) + 1;
		}
	}

	add(place: T, terms: number): void {
		if (terms === 0) return;
		this.total++;
		this.#held.push({ place, terms });
		if (this.#held.length >= 2 * this.#most) this.#held = this.#ranked().slice(0, this.#most);
	}

	/** Returns up to `count` matches, best first, each with at least half the weight of the best one. */
	best(count: number): T[] {
		const ranked = this.#ranked();
		const min = ranked[0] === undefined ? 0 : this.#weight(ranked[0].terms) / 2;
		return ranked
			.filter(({ terms }) => this.#weight(terms) >= min)
			.slice(0, count)
			.map(({ place }) => place);
	}

	#ranked(): Match<T>[] {
		return this.#held
			.map((match, i) => ({ match, i, weight: this.#weight(match.terms) }))
			.sort((a, b) => b.weight - a.weight || a.i - b.i)
			.map(({ match }) => match);
	}

	#weight(terms: number): number {
		let weight = 0;
		for (let i = 0; i < this.#counts.length; i++) {
			if ((terms & (1 << i)) !== 0) weight += Math.log(1 + this.#documents / Math.max(1, this.#counts[i] as number));
		}
		return weight;
	}
}
