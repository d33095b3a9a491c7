import type { PromptRow } from '../../src/protocol/explorerMessages.ts';

/** Number of completions with the same answer, for one prompt at one step. */
export interface AnswerCount {
	/** null if no answer could be extracted. */
	readonly answer: string | null;
	readonly count: number;
	/** Whether the answer was scored as correct, or null if it was not scored. */
	readonly correct: boolean | null;
}

export function answerCounts(row: PromptRow): AnswerCount[] {
	const counts = new Map<string | null, { count: number; correct: boolean | null }>();
	for (const [i, answer] of row.answer.entries()) {
		const entry = counts.get(answer) ?? { count: 0, correct: null };
		entry.count++;
		const correct = row.correct[i] ?? null;
		if (correct !== null) entry.correct = correct || entry.correct === true;
		counts.set(answer, entry);
	}
	return [...counts]
		.map(([answer, entry]) => ({ answer, ...entry }))
		.sort((a, b) => b.count - a.count || (a.answer === null ? 1 : 0) - (b.answer === null ? 1 : 0));
}

export function meanOf(values: readonly (number | null)[]): number | null {
	const numbers = values.filter((value) => value !== null);
	return numbers.length === 0 ? null : numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** Returns the rows whose most frequent answer differs from the previous row's. */
export function changedAnswers(rows: readonly PromptRow[]): Set<number> {
	const changed = new Set<number>();
	let last: string | null | undefined;
	for (const [i, row] of rows.entries()) {
		const max = answerCounts(row)[0]?.answer ?? null;
		if (last !== undefined && max !== last) changed.add(i);
		last = max;
	}
	return changed;
}
