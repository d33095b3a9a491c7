import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { type EvaluationPlace, formatAddress } from '../core/address/dataAddress.ts';
import {
	comparePaired,
	countProblems,
	type PairedComparison,
	type ProblemSample,
	pairProblems,
} from '../core/evaluation/pairProblems.ts';
import { problemKey } from '../core/evaluation/problemKey.ts';
import { listEvaluations, readQuestions } from '../runs/evaluationFiles.ts';
import { samplesOf } from '../runs/heldOutSource.ts';
import type { Runs } from './runs.ts';

/** Significance level below which one evaluation counts as better. */
export const significanceLevel = 0.05;

interface EvaluationSamples {
	readonly place: EvaluationPlace;
	/** Equal keys mean the same evaluation. */
	readonly key: string;
	readonly samples: readonly ProblemSample[];
}

/** A paired test of two evaluations on the same problems. */
export interface PairedEvaluations {
	readonly first: EvaluationSamples;
	readonly second: EvaluationSamples;
	readonly compared: PairedComparison;
	/** Address of the comparison. */
	readonly address: string;
}

/** Tests whether two evaluations differ. Fails with `missing` for an unknown one, and with `invalid` if both are the same. */
export async function pairEvaluations(
	one: EvaluationPlace,
	two: EvaluationPlace,
	runs: Runs,
	signal: AbortSignal,
): Promise<PairedEvaluations> {
	// Checkpoint evaluations store a key for each question; evaluations during training only have prompts.
	const byPrompt = one.step !== null || two.step !== null;
	const [first, second] = [await read(one, byPrompt, runs, signal), await read(two, byPrompt, runs, signal)];
	if (first.key === second.key) {
		throw new Failure('invalid', 'Both evaluations are the same.', 'Pass different evaluations.');
	}
	const compared = comparePaired(pairProblems(countProblems(first.samples), countProblems(second.samples)));
	const address = formatAddress({ kind: 'comparison', ...first.place, other: second.place });
	return { first, second, compared, address };
}

async function read(
	{ run: named, name, step }: EvaluationPlace,
	byPrompt: boolean,
	runs: Runs,
	signal: AbortSignal,
): Promise<EvaluationSamples> {
	const { run, content } = await runs.open(named);
	const place = { run: run.name, name, step };
	const unknown = (what: string) =>
		new Failure('missing', `${run.name} has no evaluation ${what}.`, 'Call list_evaluations to list its evaluations.');
	if (step === null) {
		const found = (await listEvaluations(run.folder)).find(({ path }) => basename(path) === name);
		if (found === undefined) throw unknown(name);
		const questions = await readQuestions(found.path, found.file.problems.count);
		const samples = [...questions.values()].flatMap(({ key, prompt, samples }) =>
			samples.map(({ correct }) => ({ problem: byPrompt ? problemKey(prompt) : key, correct })),
		);
		return { place, key: found.path, samples };
	}
	if (!(await content.evaluations()).some((one) => one.name === name && one.step === step)) {
		throw unknown(`${name} at step ${step}`);
	}
	const samples = await samplesOf(content, { name, step, source: 'evaluation' }, signal);
	return { place, key: `${run.folder} ${step} ${name}`, samples };
}
