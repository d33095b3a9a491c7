import { basename, extname, join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { strategies } from '../../core/search/strategies.ts';
import { requireInside } from '../../files/ownFolder.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { evaluationSpecSchema } from '../../protocol/evaluationFolder.ts';
import { plainScorers, type SearchSpec, searchSpecSchema } from '../../protocol/searchSpec.ts';
import { isRewardFileName } from '../../rewards/rewardFileName.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { searchLogName } from '../../runs/searchLog.ts';
import { evaluatePolicy } from '../../search/evaluate/evaluatePolicy.ts';
import { readProblemRow } from '../../search/problemSet.ts';
import { startSearch } from '../../search/searchSession.ts';
import { checkpointPolicy } from '../checkpointPolicy.ts';
import * as input from '../inputs.ts';
import { heldOutProblems } from '../runProblems.ts';
import type { KnownRun, Runs } from '../runs.ts';
import { requireOwn, searchBudget, startSearchJob, withPolicies } from '../searchJob.ts';
import { defineAction } from '../tool.ts';
import { shownJob } from './jobTools.ts';

const checkpoint = v.optional(
	input.described(
		v.pipe(v.string(), v.regex(/^(?:newest|best|live|\d{1,12})$/)),
		'Checkpoint of the run: newest, best, a step, or live for the running engine.',
	),
	'newest',
);
const sampling = {
	temperature: v.optional(
		input.described(v.pipe(v.number(), v.minValue(0), v.maxValue(10)), 'Sampling temperature.'),
		1,
	),
	max_tokens: v.optional(input.described(input.whole(1, 1_000_000), 'Maximum tokens per completion.')),
	seed: v.optional(input.described(input.whole(0, 2 ** 31), 'Random seed.'), 0),
};
const samplingOf = (temperature: number, max_tokens: number | undefined) => ({
	temperature,
	...(max_tokens === undefined ? {} : { maxTokens: max_tokens }),
});
const dataset = v.optional(input.text('Dataset file: absolute path, or relative to a server folder.'));

export const startSearchTool = defineAction({
	name: 'start_search',
	title: 'Start a search',
	description:
		'Search for the answer to one problem with a checkpoint of a run and return immediately. read_job returns progress and the result, and read_tree returns the nodes. The log is stored with the run. Uses the device, and runs the code of a reward file if one is given.',
	effect: 'control',
	input: v.object({
		run: input.run,
		checkpoint,
		problem: v.optional(input.text('Problem. Default: a dataset row.', 100_000)),
		answer: v.optional(input.text('Gold answer, to report whether the result is correct.', 10_000)),
		dataset,
		row: v.optional(input.described(input.whole(1, 1e9), 'Dataset row, from 1.'), 1),
		strategy: v.optional(
			input.described(
				v.picklist(strategies.map(({ name }) => name)),
				'Search strategy. Default: best-of-n with a guide or reward, otherwise self-consistency.',
			),
		),
		params: v.optional(
			input.described(v.record(v.string(), v.unknown()), 'Strategy parameters, such as {"n": 16}.'),
			{},
		),
		guide: v.optional(input.described(v.picklist(plainScorers), 'Scorer for steps or completions.')),
		reward: v.optional(
			input.text('Use a reward as the scorer: the name of a built-in reward, or a reward file inside a server folder.'),
		),
		sees_answer: v.optional(
			input.described(v.boolean(), 'Whether the reward sees the gold answer. If so, the result is an upper bound.'),
			false,
		),
		...sampling,
		...searchBudget,
	}),
	async run(given, { runs, actions, signal }) {
		const run = await runs.find(given.run);
		await requireOwn(run);
		actions.jobs.requireRoom();
		const { policy, name, step } = await checkpointPolicy(run, given.checkpoint);
		const problem = await problemOf(given, runs);
		const guide = await scorerOf(given, runs);
		const spec: SearchSpec = decodeOrThrow(
			searchSpecSchema,
			{
				policy,
				strategy: given.strategy ?? (guide === null ? 'self-consistency' : 'best-of-n'),
				params: given.params,
				guide,
				sampling: samplingOf(given.temperature, given.max_tokens),
				budget: { tokens: given.tokens, seconds: given.seconds },
				seed: given.seed,
			},
			'The search',
		);
		const folder = await requireInside(run.folder, runFiles.searches);
		const log = join(folder, searchLogName(spec.strategy, new Date()));
		const search = basename(log);
		const address = formatAddress({ kind: 'search', run: run.name, search, tree: 1, node: null });
		const subject = { run: run.name, checkpoint: step ?? name, search, address, strategy: spec.strategy };
		return await startSearchJob({ actions, run, subject, upperBound: given.sees_answer, signal }, (context, stop) =>
			startSearch({ spec, problem, log, context, signal: stop }),
		);
	},
});

async function problemOf(
	{
		problem,
		answer,
		dataset,
		row,
	}: { problem?: string | undefined; answer?: string | undefined; dataset?: string | undefined; row: number },
	runs: Runs,
) {
	if ((problem === undefined) === (dataset === undefined)) {
		throw new Failure('invalid', 'Specify the problem as either text or a dataset row.', 'Pass problem or dataset.');
	}
	if (problem !== undefined) return { prompt: problem, answer: answer ?? null, row: {} };
	const read = await readProblemRow(await runs.fileWithin(dataset as string), row);
	return { ...read, answer: answer ?? read.answer };
}

async function scorerOf(
	{ guide, reward, sees_answer }: { guide?: string | undefined; reward?: string | undefined; sees_answer: boolean },
	runs: Runs,
) {
	if (guide !== undefined && reward !== undefined) {
		throw new Failure('invalid', 'A search can only have one scorer.', 'Pass guide or reward.');
	}
	if (reward === undefined) return guide === undefined ? null : { use: guide };
	return {
		use: 'reward',
		reward: isRewardFileName(reward) ? { file: await runs.fileWithin(reward) } : reward,
		gold: sees_answer,
	};
}

export const startEvaluationTool = defineAction({
	name: 'start_evaluation',
	title: 'Start an evaluation',
	description:
		'Evaluate a checkpoint of a run on a dataset or on the held-out problems of the run and return immediately. read_job returns progress and accuracy; compare_evaluations tests whether two evaluations differ. Results are stored with the run, and an unfinished evaluation with the same settings is continued. Uses the device.',
	effect: 'control',
	input: v.object({
		run: input.run,
		checkpoint,
		dataset,
		prompt_column: v.optional(input.text('Column with the prompt. Default: detected.', 200)),
		answer_column: v.optional(input.text('Column with the answer. Default: detected.', 200)),
		limit: v.optional(input.described(input.whole(1, 1_000_000), 'Use only the first N problems. Default: all.')),
		samples: v.optional(input.described(input.whole(1, 1024), 'Completions per problem.'), 1),
		name: v.optional(
			input.described(
				v.pipe(v.string(), v.regex(/^[A-Za-z0-9][\w.-]{0,100}$/)),
				'Name of the evaluation. Default: dataset and step.',
			),
		),
		...sampling,
	}),
	async run(given, { runs, actions }) {
		const run = await runs.find(given.run);
		await requireOwn(run);
		actions.jobs.requireRoom();
		const { policy, name, step } = await checkpointPolicy(run, given.checkpoint);
		const problems = await problemsOf(given, run, runs);
		const of = given.dataset === undefined ? 'held-out' : basename(given.dataset, extname(given.dataset));
		const evaluation = given.name ?? `${of}-${name}`.replace(/[^\w.-]+/g, '-');
		const spec = decodeOrThrow(
			evaluationSpecSchema,
			{
				...{ name: evaluation, policy, problems, samples: given.samples, seed: given.seed },
				sampling: samplingOf(given.temperature, given.max_tokens),
			},
			'The evaluation',
		);
		const folder = await requireInside(run.folder, runFiles.annotations, 'evaluations', evaluation);
		const address = formatAddress({ kind: 'evaluation', run: run.name, name: evaluation, step: null });
		const subject = { run: run.name, checkpoint: step ?? name, evaluation, address };
		const job = actions.jobs.start('evaluation', subject, ({ signal, report }) =>
			withPolicies(actions, run, async (context) => {
				const {
					done,
					total,
					failures,
					report: results,
				} = await evaluatePolicy({
					...{ spec, folder, context, signal },
					onProgress: ({ done, total, seconds, accuracy }) => {
						report({ done, total, seconds, accuracy: Number.isNaN(accuracy) ? null : accuracy });
					},
				});
				const { accuracy, passAtK, consAtK, truncated, unanswered } = results;
				return {
					...{ done, total, failed: failures.slice(0, 5), accuracy, pass_at_k: passAtK, cons_at_k: consAtK },
					...{ truncated, unanswered },
				};
			}),
		);
		return shownJob(job);
	},
});

async function problemsOf(
	given: {
		readonly dataset?: string | undefined;
		readonly prompt_column?: string | undefined;
		readonly answer_column?: string | undefined;
		readonly limit?: number | undefined;
	},
	run: KnownRun,
	runs: Runs,
) {
	const { dataset, prompt_column: prompt, answer_column: answer, limit } = given;
	if (dataset === undefined) return heldOutProblems(run, limit, runs);
	return {
		...{ from: 'file', path: await runs.fileWithin(dataset) },
		...(prompt === undefined ? {} : { prompt }),
		...(answer === undefined ? {} : { answer }),
		...(limit === undefined ? {} : { limit }),
	};
}
