import { basename } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { comparePaired, countProblems, type ProblemSample, pairProblems } from '../../core/evaluation/pairProblems.ts';
import { problemKey } from '../../core/evaluation/problemKey.ts';
import { listEvaluations, readQuestions } from '../../runs/evaluationFiles.ts';
import { samplesOf } from '../../runs/heldOutSource.ts';
import * as input from '../inputs.ts';
import type { Runs } from '../runs.ts';
import { defineTool } from '../tool.ts';

/** Significance level below which one evaluation counts as better. */
const level = 0.05;

const place = v.object({
	run: input.run,
	evaluation: v.optional(input.text('Evaluation of a checkpoint, as returned by list_evaluations.', 300)),
	name: v.optional(input.text('Name of an evaluation during training.', 200)),
	step: v.optional(input.step),
});
type Place = v.InferOutput<typeof place>;

export const compareEvaluations = defineTool({
	name: 'compare_evaluations',
	title: 'Compare evaluations',
	description:
		'Test whether two evaluations on the same problems differ: exact McNemar test, or sign-flip test with several samples per problem. Returns accuracies, the difference with its 95% interval, the p-value and which one is better at p < 0.05. Pass evaluation for a checkpoint, or name and step for an evaluation during training.',
	input: v.object({ first: place, second: place }),
	async run({ first, second }, { runs, signal }) {
		// Checkpoint evaluations store a key for each question; evaluations during training only have prompts.
		const byPrompt = first.evaluation === undefined || second.evaluation === undefined;
		const [one, two] = [await read(first, byPrompt, runs, signal), await read(second, byPrompt, runs, signal)];
		if (one.key === two.key) {
			throw new Failure('invalid', 'Both evaluations are the same.', 'Pass different evaluations.');
		}
		const compared = comparePaired(pairProblems(countProblems(one.samples), countProblems(two.samples)));
		const shown = ({ place, address, samples }: Read) => ({ ...place, address, samples: samples.length });
		if (compared.test === 'none') {
			return { first: shown(one), second: shown(two), ...compared, better: null };
		}
		const significant = compared.p < level;
		const better = !significant ? null : compared.difference.mean > 0 ? 'second' : 'first';
		const { test, problems, gained, lost, p, difference } = compared;
		return {
			first: { ...shown(one), accuracy: compared.first },
			second: { ...shown(two), accuracy: compared.second },
			...{ test, problems, gained, lost, p, difference, significant, better },
		};
	},
});

interface Read {
	readonly place: Place;
	/** Equal keys mean the same evaluation. */
	readonly key: string;
	readonly address: string;
	readonly samples: readonly ProblemSample[];
}

async function read(place: Place, byPrompt: boolean, runs: Runs, signal: AbortSignal): Promise<Read> {
	const { evaluation, name, step } = place;
	const { run, content } = await runs.open(place.run);
	if (evaluation !== undefined) {
		const found = (await listEvaluations(run.folder)).find(({ path }) => basename(path) === evaluation);
		if (found === undefined) throw unknown(run.name, evaluation);
		const questions = await readQuestions(found.path, found.file.problems.count);
		const samples = [...questions.values()].flatMap(({ key, prompt, samples }) =>
			samples.map(({ correct }) => ({ problem: byPrompt ? problemKey(prompt) : key, correct })),
		);
		const address = formatAddress({ kind: 'evaluation', run: run.name, name: evaluation, step: null });
		return { place, key: found.path, address, samples };
	}
	if (name === undefined || step === undefined) {
		throw new Failure('invalid', 'No evaluation was specified.', 'Pass name and step, or evaluation.');
	}
	if (!(await content.evaluations()).some((one) => one.name === name && one.step === step)) {
		throw unknown(run.name, `${name} at step ${step}`);
	}
	const address = formatAddress({ kind: 'evaluation', run: run.name, name, step });
	const samples = await samplesOf(content, { name, step, source: 'evaluation' }, signal);
	return { place, key: `${run.folder} ${step} ${name}`, address, samples };
}

const unknown = (run: string, what: string) =>
	new Failure('missing', `${run} has no evaluation ${what}.`, 'Call list_evaluations to list its evaluations.');
