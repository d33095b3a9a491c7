import { basename } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { promptKey } from '../../core/dataset/datasetRows.ts';
import { fileLines } from '../../files/fileLines.ts';
import { decode } from '../../protocol/decode.ts';
import { evaluatedQuestionSchema, evaluationFiles } from '../../protocol/evaluationFolder.ts';

/** Pass rates of a policy: the fraction of correct samples per question. */
export interface PassRates {
	/** Name of the evaluation folder. */
	readonly name: string;
	readonly questions: number;
	/**
	 * Returns the fraction of correct samples for the question with this prompt, or null if the question was not asked.
	 */
	of(prompt: string): number | null;
}

/**
 * Reads the pass rates from an evaluation folder (docs/evaluation.md), even if the evaluation is unfinished. If a
 * question was asked several times, all of its samples count. Fails with `invalid` if no question is finished.
 */
export async function readPassRates(folder: string): Promise<PassRates> {
	const name = basename(folder);
	const counts = new Map<string, { right: number; samples: number }>();
	/** The last line for a question wins, so a repeated question is not counted twice. */
	const problems = new Map<number, { key: string; right: number; samples: number }>();
	for await (const value of fileLines(folder, evaluationFiles.samples)) {
		const question = decode(evaluatedQuestionSchema, value);
		if (!question.ok || question.value.samples.length === 0) continue;
		const { problem, prompt, samples } = question.value;
		const right = samples.filter(({ correct }) => correct).length;
		problems.set(problem, { key: promptKey(prompt), right, samples: samples.length });
	}
	for (const { key, right, samples } of problems.values()) {
		const count = counts.get(key) ?? { right: 0, samples: 0 };
		counts.set(key, { right: count.right + right, samples: count.samples + samples });
	}
	if (counts.size === 0) {
		throw new Failure(
			'invalid',
			`${name} contains no evaluated questions.`,
			'Choose an evaluation folder, which contains evaluation.json.',
		);
	}
	return {
		name,
		questions: counts.size,
		of(prompt) {
			const count = counts.get(promptKey(prompt));
			return count === undefined ? null : count.right / count.samples;
		},
	};
}
