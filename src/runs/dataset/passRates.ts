import { basename } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { promptKey } from '../../core/dataset/datasetRows.ts';
import { fileLines } from '../../files/fileLines.ts';
import { decode } from '../../protocol/decode.ts';
import { evaluatedQuestionSchema, evaluationFiles } from '../../protocol/evaluationFolder.ts';

/** Of a policy on questions: how often its samples were right. */
export interface PassRates {
	/** Of the evaluation's folder. */
	readonly name: string;
	readonly questions: number;
	/** The share of right samples of the question with this prompt; null: it was not asked. */
	of(prompt: string): number | null;
}

/**
 * The pass rates of an evaluation's folder (docs/evaluation.md), also of one that is not done yet. Questions that were asked
 * more than once count with all of their samples. Fails with `invalid` where no question is done.
 */
export async function readPassRates(folder: string): Promise<PassRates> {
	const name = basename(folder);
	const counts = new Map<string, { right: number; samples: number }>();
	/** The last line of a question counts: one that is asked again is not counted twice. */
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
			'Choose the folder of an evaluation, which contains evaluation.json.',
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
