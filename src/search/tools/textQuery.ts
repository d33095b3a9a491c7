import { claimTerms } from '../../core/transcript/claimTerms.ts';

/** What a text search looks for: content words as stems, numbers and names as they are, and phrases in quotes. */
export interface TextQuery {
	/** In lower case; distinct. */
	readonly terms: readonly string[];
}

const maxTerms = 24;
const longestQuery = 2000;

/** Nothing in a query is a pattern. */
export function textQuery(query: string): TextQuery {
	const words = query.slice(0, longestQuery);
	const phrases = [...words.matchAll(/"([^"]{2,200})"/g)].map(([, phrase = '']) => phrase.trim().toLowerCase());
	const names = (words.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [])
		.map((word) => word.replace(/^\.+|\.+$/g, ''))
		.filter((word) => /[\p{N}_]/u.test(word));
	const terms = [...phrases, ...names, ...claimTerms(words)].filter((term) => term.length >= 2 || /\p{N}/u.test(term));
	return { terms: [...new Set(terms)].slice(0, maxTerms) };
}

/** Which terms are in a text in lower case, as bits. */
export function termsIn(lower: string, { terms }: TextQuery): number {
	let found = 0;
	for (const [i, term] of terms.entries()) if (lower.includes(term)) found |= 1 << i;
	return found;
}

export interface Match<T> {
	readonly place: T;
	/** Its terms, as bits. */
	readonly terms: number;
}

/**
 * The best of many places, held as they come: by how rare the terms are that a place has (ln(1 + N / n), Spärck Jones 1972,
 * over documents), of equals the first.
 */
export class BestMatches<T> {
	readonly #most: number;
	readonly #counts: number[];
	#documents = 0;
	#held: Match<T>[] = [];
	/** Places with any of the terms. */
	total = 0;

	constructor(query: TextQuery, most = 400) {
		this.#counts = query.terms.map(() => 0);
		this.#most = most;
	}

	/** @param terms all terms of one document */
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

	/** Those that have at least half of the weight of the best one. */
	best(count: number): T[] {
		const ranked = this.#ranked();
		const least = ranked[0] === undefined ? 0 : this.#weight(ranked[0].terms) / 2;
		return ranked
			.filter(({ terms }) => this.#weight(terms) >= least)
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
