import { HashIndex } from './hashIndex.ts';
import type { WordHashes } from './wordHashes.ts';

/** Length statistics, in characters. */
export interface LengthFacts {
	readonly least: number;
	readonly median: number;
	readonly mean: number;
	/** 95th percentile. */
	readonly p95: number;
	readonly most: number;
}

export const answerKinds = ['integer', 'number', 'expression', 'choice', 'boolean', 'text', 'unknown'] as const;
/** Format of an answer. `choice` is a single letter from A to J; `unknown` is null in the data. */
export type AnswerKind = (typeof answerKinds)[number];

export interface DatasetFacts {
	readonly rows: number;
	/** null if no row has a prompt. */
	readonly prompt: LengthFacts | null;
	readonly answer: LengthFacts | null;
	readonly solution: LengthFacts | null;
	readonly withSolution: number;
	/** Number of answers per format, most frequent first. */
	readonly answerKinds: readonly (readonly [kind: AnswerKind, rows: number])[];
	/** Number of distinct words across all prompts, up to the counter limit. */
	readonly vocabulary: number;
	/** Whether the vocabulary limit was reached. If so, there might be more distinct words than counted. */
	readonly vocabularyFull: boolean;
}

/** Row fields that are counted. */
export interface CountedRow {
	readonly prompt: string | null;
	readonly answer: string | null;
	readonly solution: string | null;
}

/** Counts rows one at a time. Keeps lengths and words, not the text itself. */
export class FactsCounter {
	readonly #prompt = new Lengths();
	readonly #answer = new Lengths();
	readonly #solution = new Lengths();
	readonly #kinds = new Map<AnswerKind, number>();
	readonly #vocabulary: HashIndex;
	#rows = 0;

	/** @param maxWords maximum number of distinct words */
	constructor(maxWords = 2_000_000) {
		this.#vocabulary = new HashIndex(maxWords);
	}

	/** @param words the words in the prompt */
	add({ prompt, answer, solution }: CountedRow, words: WordHashes): void {
		this.#rows++;
		const kind = answerKind(answer);
		this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1);
		if (prompt !== null) this.#prompt.add(prompt.length);
		if (answer !== null) this.#answer.add(answer.length);
		if (solution !== null) this.#solution.add(solution.length);
		if (prompt === null || this.#vocabulary.full) return;
		this.#vocabulary.addAll(words.low, words.high, words.length);
	}

	get facts(): DatasetFacts {
		return {
			rows: this.#rows,
			prompt: this.#prompt.facts,
			answer: this.#answer.facts,
			solution: this.#solution.facts,
			withSolution: this.#solution.count,
			answerKinds: [...this.#kinds].sort((a, b) => b[1] - a[1]),
			vocabulary: this.#vocabulary.size,
			vocabularyFull: this.#vocabulary.full,
		};
	}
}

export function answerKind(answer: string | null): AnswerKind {
	if (answer === null) return 'unknown';
	const text = answer.trim();
	if (/^[-+]?\d{1,3}(,\d{3})+$|^[-+]?\d+$/.test(text)) return 'integer';
	if (/^[-+]?(\d+\.\d*|\.\d+)(e[-+]?\d+)?$|^[-+]?\d+\s*\/\s*\d+$|^[-+]?\d+(\.\d+)?\s*\\?%$/i.test(text))
		return 'number';
	if (/^\(?[A-J]\)?\.?$/.test(text)) return 'choice';
	if (/^(yes|no|true|false)$/i.test(text)) return 'boolean';
	if (/[\\^_=+*/()]/.test(text) && /[\d\\]/.test(text) && !/\n/.test(text)) return 'expression';
	return 'text';
}

/** Length histogram. */
class Lengths {
	readonly #counts = new Map<number, number>();
	#sum = 0;
	count = 0;

	add(length: number): void {
		this.#counts.set(length, (this.#counts.get(length) ?? 0) + 1);
		this.#sum += length;
		this.count++;
	}

	get facts(): LengthFacts | null {
		if (this.count === 0) return null;
		const sorted = [...this.#counts].sort((a, b) => a[0] - b[0]);
		const at = (share: number): number => {
			let left = Math.ceil(share * this.count);
			for (const [length, times] of sorted) {
				left -= times;
				if (left <= 0) return length;
			}
			return sorted.at(-1)?.[0] as number;
		};
		return {
			least: sorted[0]?.[0] as number,
			median: at(0.5),
			mean: this.#sum / this.count,
			p95: at(0.95),
			most: sorted.at(-1)?.[0] as number,
		};
	}
}
