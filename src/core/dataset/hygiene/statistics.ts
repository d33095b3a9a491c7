import type { Problem } from '../problem.ts';
import { wordsOf } from './words.ts';

/** Of lengths, in characters. */
export interface LengthFacts {
	readonly least: number;
	readonly median: number;
	readonly mean: number;
	/** The 95th percentile: 95 % are no longer. */
	readonly p95: number;
	readonly most: number;
}

export const answerKinds = ['whole number', 'number', 'expression', 'choice', 'yes or no', 'text', 'unknown'] as const;
/** What an answer looks like; `choice`: one letter of A to J; `unknown`: null in the data. */
export type AnswerKind = (typeof answerKinds)[number];

export interface DatasetFacts {
	readonly rows: number;
	readonly prompt: LengthFacts;
	/** null: no row has one. */
	readonly answer: LengthFacts | null;
	readonly solution: LengthFacts | null;
	readonly withSolution: number;
	/** How many answers are of which kind, the most frequent first. */
	readonly answerKinds: readonly (readonly [kind: AnswerKind, rows: number])[];
	/** Different words over all prompts. */
	readonly vocabulary: number;
}

/** What a dataset is like. @param problems at least one */
export function datasetFacts(problems: readonly Problem[]): DatasetFacts {
	const kinds = new Map<AnswerKind, number>();
	const vocabulary = new Set<string>();
	for (const { prompt, answer } of problems) {
		const kind = answerKind(answer);
		kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
		for (const word of wordsOf(prompt)) vocabulary.add(word);
	}
	const lengths = (texts: readonly (string | null)[]) =>
		lengthFacts(texts.flatMap((t) => (t === null ? [] : [t.length])));
	return {
		rows: problems.length,
		prompt: lengths(problems.map(({ prompt }) => prompt)) as LengthFacts,
		answer: lengths(problems.map(({ answer }) => answer)),
		solution: lengths(problems.map(({ solution }) => solution)),
		withSolution: problems.filter(({ solution }) => solution !== null).length,
		answerKinds: [...kinds].sort((a, b) => b[1] - a[1]),
		vocabulary: vocabulary.size,
	};
}

export function answerKind(answer: string | null): AnswerKind {
	if (answer === null) return 'unknown';
	const text = answer.trim();
	if (/^[-+]?\d{1,3}(,\d{3})+$|^[-+]?\d+$/.test(text)) return 'whole number';
	if (/^[-+]?(\d+\.\d*|\.\d+)(e[-+]?\d+)?$|^[-+]?\d+\s*\/\s*\d+$|^[-+]?\d+(\.\d+)?\s*\\?%$/i.test(text))
		return 'number';
	if (/^\(?[A-J]\)?\.?$/.test(text)) return 'choice';
	if (/^(yes|no|true|false)$/i.test(text)) return 'yes or no';
	if (/[\\^_=+*/()]/.test(text) && /[\d\\]/.test(text) && !/\n/.test(text)) return 'expression';
	return 'text';
}

function lengthFacts(lengths: readonly number[]): LengthFacts | null {
	if (lengths.length === 0) return null;
	const sorted = [...lengths].sort((a, b) => a - b);
	const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number;
	return {
		least: sorted[0] as number,
		median: at(0.5),
		mean: lengths.reduce((a, b) => a + b, 0) / lengths.length,
		p95: at(0.95),
		most: sorted.at(-1) as number,
	};
}
