import { Failure } from '../../base/failure.ts';
import { Random } from '../../base/random.ts';
import { answersEqual } from './answer.ts';
import type { Problem } from './problem.ts';
import type { ProblemSource } from './problemSource.ts';
import { isHeldOut } from './split.ts';

export interface RowsSplit {
	readonly training: readonly Problem[];
	readonly heldOut: readonly Problem[];
}

/**
 * Splits rows by the held-out file if there is one (removing its prompts from the training rows), or by a hash of the
 * prompt otherwise. Rows with the same prompt land on the same side. The held-out side contains each prompt once.
 */
export function splitRows(rows: readonly Problem[], heldOutRows: readonly Problem[] | null, share: number): RowsSplit {
	const keys = new Set(heldOutRows?.map((row) => row.key));
	const isTest = (row: Problem) => (heldOutRows === null ? isHeldOut(row.key, share) : keys.has(row.key));
	const unique = new Map((heldOutRows ?? rows.filter(isTest)).toReversed().map((row) => [row.key, row]));
	return { training: rows.filter((row) => !isTest(row)), heldOut: [...unique.values()].reverse() };
}

function codePoints(text: string | null): number {
	let n = 0;
	for (const _ of text ?? '') n++;
	return n;
}

/** Creates a source that serves file rows in epochs. Throws `invalid` if either side of the split is empty. */
export function rowsSource(name: string, { training, heldOut }: RowsSplit): ProblemSource {
	if (training.length === 0 || heldOut.length === 0) {
		const [side, other] = training.length === 0 ? ['train on', 'held out'] : ['hold out', 'trained on'];
		throw new Failure(
			'invalid',
			`The dataset ${name} leaves no rows to ${side}: all are ${other}.`,
			'Add rows, change "heldOutShare", or use a "heldOut" file with different prompts.',
		);
	}
	const symbols = new Set<string>();
	const columns = new Set<string>();
	const longest = { prompt: 0, solution: 0, answer: 0 };
	for (const row of [...training, ...heldOut]) {
		for (const column in row.row) columns.add(column);
		for (const field of ['prompt', 'solution', 'answer'] as const) {
			for (const character of row[field] ?? '') symbols.add(character);
			longest[field] = Math.max(longest[field], codePoints(row[field]));
		}
	}
	// Training reads consecutive problems, so only one epoch's order is cached at a time.
	let cached: { seed: number; epoch: number; order: number[] } | null = null;
	const orderOf = (seed: number, epoch: number): number[] => {
		if (cached?.seed !== seed || cached.epoch !== epoch) {
			const order = Random.of(seed, 'epoch', epoch).shuffle(training.map((_, i) => i));
			cached = { seed, epoch, order };
		}
		return cached.order;
	};
	// Use a fixed shuffle so that the first n rows are a representative sample of a sorted file.
	const fixed = Random.of('held-out').shuffle([...heldOut]);
	return {
		name,
		symbols: [...symbols],
		maxPromptLength: longest.prompt,
		maxSolutionLength: longest.solution,
		maxAnswerLength: longest.answer,
		hasSolutions: training.every((row) => row.solution !== null && row.answer !== null),
		columns: [...columns],
		trainingRows: training.length,
		training(seed, index) {
			const at = orderOf(seed, Math.floor(index / training.length))[index % training.length] as number;
			return training[at] as Problem;
		},
		heldOut: (n) => fixed.slice(0, n),
		verify: (question, answer) => (question.answer === null ? null : answersEqual(question.answer, answer)),
	};
}
