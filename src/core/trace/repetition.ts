import type { Span } from './trace.ts';
import { wordPlaces } from './wordPlaces.ts';

export interface Repetition {
	/** 1 - distinct n-grams / n-grams: 0 without repetition, close to 1 for an endless loop. */
	readonly share: number;
	/** Number of n-grams, and how many of them repeat an earlier one. */
	readonly ngrams: number;
	readonly repeated: number;
	/** Positions of repeated text, in UTF-16 code units; overlapping n-grams are merged. At most 10,000. */
	readonly places: readonly Span[];
}

export interface RepetitionOptions {
	/** N-gram length. Default: 4 words, which rarely repeat by chance even in formulas. */
	readonly ngram?: number;
	/** Unit, as in the repetition reward. */
	readonly unit?: 'words' | 'characters';
	/** Part to examine. Default: the whole text. */
	readonly span?: Span;
}

/** Maximum number of units to examine, to limit memory. */
const maxUnits = 200_000;
const maxPlaces = 10_000;

function characterPlaces(text: string): Span[] {
	const places: Span[] = [];
	let start = 0;
	for (const character of text) {
		if (places.length >= maxUnits) break;
		places.push({ start, end: start + character.length });
		start += character.length;
	}
	return places;
}

/**
 * Finds repeated n-grams and their positions, using the same metric as the repetition reward (Yeo et al. 2025;
 * open-r1's `get_repetition_penalty_reward`). Case-insensitive. Only the first 200,000 words are examined. Takes linear
 * time.
 */
export function findRepetition(
	text: string,
	{ ngram = 4, unit = 'words', span = { start: 0, end: text.length } }: RepetitionOptions = {},
): Repetition {
	const part = text.slice(span.start, span.end);
	const units = unit === 'words' ? wordPlaces(part, maxUnits) : characterPlaces(part);
	const ngrams = units.length - ngram + 1;
	if (ngrams <= 0) return { share: 0, ngrams: 0, repeated: 0, places: [] };
	const words = units.map(({ start, end }) => part.slice(start, end).toLowerCase());
	const seen = new Set<string>();
	const places: { start: number; end: number }[] = [];
	let repeated = 0;
	for (let i = 0; i < ngrams; i++) {
		const key = words.slice(i, i + ngram).join(' ');
		if (!seen.has(key)) {
			seen.add(key);
			continue;
		}
		repeated++;
		const start = span.start + (units[i] as Span).start;
		const end = span.start + (units[i + ngram - 1] as Span).end;
		const last = places.at(-1);
		if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
		else if (places.length < maxPlaces) places.push({ start, end });
	}
	return { share: repeated / ngrams, ngrams, repeated, places };
}
