import { Failure } from '../../../base/failure.ts';
import { computeAdvantages } from '../../../core/grpo/advantages.ts';
import { type BatchScore, type RewardFailures, type RowScore, scoreBatch } from '../../shared/scoreBatch.ts';
import type { Sample } from '../learner.ts';
import type { PosedProblem } from './problemFeed.ts';
import type { StageHost, Verdict } from './stageHost.ts';

/** How a stage samples: what its type has of these settings. */
export interface SamplingStage {
	readonly type: string;
	readonly prompts_per_step: number;
	readonly num_generations: number;
	readonly max_completion_length: number;
	readonly temperature: number;
	readonly dynamic_sampling?: boolean;
	readonly max_resamples?: number;
}

/** One sampled and scored completion. */
export interface Rollout extends RowScore {
	readonly posed: PosedProblem;
	readonly sample: Sample;
	/** Without special tokens. */
	readonly completion: string;
}

export interface GenerationBatch {
	/** The rows of a group lie together. */
	readonly rollouts: readonly Rollout[];
	/** Completions that were sampled for it, those that dynamic sampling left out included. */
	readonly sampled: number;
	/** Their completion tokens. */
	readonly sampledTokens: number;
	/** By reward: how many of the sampled rows it failed on; those without failures are left out. */
	readonly errors: ReadonlyMap<string, number>;
	/** What rewards gave to TRL's `log_metric`; of several rounds the last. */
	readonly metrics: Readonly<Record<string, number>>;
}

/** The batch cannot be learned from: too many of its rows have no reward. Nothing of it has happened yet. */
export class ScoringFailed extends Error {
	readonly failures: RewardFailures;

	constructor(failures: RewardFailures) {
		super(`"${failures.column}" failed`);
		this.failures = failures;
	}
}

async function sampleGroups(
	host: StageHost,
	stage: SamplingStage,
	round: number,
): Promise<{ rows: Rollout[]; failures: readonly RewardFailures[]; metrics: BatchScore['metrics'] }> {
	const { parts, progress, watch } = host;
	const posed = parts.feed.nextPosed(stage.prompts_per_step, stage.max_completion_length);
	const problems = posed.flatMap((problem) => new Array<PosedProblem>(stage.num_generations).fill(problem));
	const samples = await watch.measure('generate', () =>
		parts.learner.sample({
			prompts: problems.map((problem) => problem.promptTokens),
			seeds: problems.map((_, i) => `${parts.recipe.seed}/sample/${progress.generations}/${round}/${i}`),
			maxNewTokens: stage.max_completion_length,
			temperature: stage.temperature,
		}),
	);
	const completions = samples.map((sample) => parts.tokenizer.decode(sample.tokens.slice(sample.promptLength)));
	const {
		rows: scores,
		failures,
		output,
		metrics,
	} = await watch.measure('reward', () =>
		scoreBatch(
			parts.rewards.scorers,
			problems.map(({ problem, prompt }, i) => ({
				prompt,
				completion: completions[i] as string,
				answer: problem.answer,
				row: problem.row,
				truncated: (samples[i] as Sample).truncated,
			})),
			{ step: progress.step, signal: host.interrupt },
		),
	);
	for (const [column, lines] of output) host.noteOutput(column, lines);
	return {
		failures,
		metrics,
		rows: scores.map((score, i) => ({
			...score,
			posed: problems[i] as PosedProblem,
			sample: samples[i] as Sample,
			completion: completions[i] as string,
		})),
	};
}

/**
 * The next batch of a stage. A batch whose rewards failed on too many rows is tried again once a person wants it, one that
 * was given up for a request from outside after that; `stop`: it is not.
 */
export async function nextGeneration(host: StageHost, stage: () => SamplingStage): Promise<GenerationBatch | 'stop'> {
	for (;;) {
		let verdict: Verdict;
		try {
			return await sampleBatch(host, stage());
		} catch (error) {
			// The weights are those of before: sampled again, the batch is the same.
			if (error instanceof ScoringFailed) verdict = await host.holdBatch(error.failures);
			else if (error instanceof Failure && error.reason === 'cancelled' && host.interrupt.aborted) {
				verdict = await host.openGate();
			} else throw error;
		}
		if (verdict === 'stop') return 'stop';
	}
}

/**
 * Samples and scores one generation batch: `prompts_per_step` groups of `num_generations` completions. With dynamic
 * sampling (DAPO, Yu et al. 2025, section 3.2) groups whose rewards are all equal are replaced by groups of further
 * rounds, `max_resamples` rounds at most; what is then still missing is filled with dead groups.
 *
 * @throws {ScoringFailed} when a reward fails on more rows than the recipe goes on with; `cancelled` when the run is to
 * stop. Then the counters are those of before, so that the same batch can be sampled again.
 */
export async function sampleBatch(host: StageHost, stage: SamplingStage): Promise<GenerationBatch> {
	const { progress, parts } = host;
	const { cursor } = parts.feed;
	const { tokens } = progress;
	try {
		return await takeBatch(host, stage);
	} catch (error) {
		parts.feed.cursor = cursor;
		progress.tokens = tokens;
		throw error;
	}
}

async function takeBatch(host: StageHost, stage: SamplingStage): Promise<GenerationBatch> {
	const size = stage.num_generations;
	const deadOf = (rows: readonly Rollout[]) =>
		computeAdvantages(
			rows.map((row) => row.reward),
			size,
			'none',
		).dead;
	const live: Rollout[] = [];
	const dead: Rollout[] = [];
	const wanted = stage.prompts_per_step * size;
	const errors = new Map<string, number>();
	let metrics: BatchScore['metrics'] = {};
	let sampled = 0;
	let sampledTokens = 0;
	for (let round = 0; ; round++) {
		const { rows, failures, metrics: logged } = await sampleGroups(host, stage, round);
		metrics = { ...metrics, ...logged };
		for (const failure of failures) {
			if (failure.failed > host.parts.recipe.scoring.pauseAbove * failure.rows) throw new ScoringFailed(failure);
			errors.set(failure.column, (errors.get(failure.column) ?? 0) + failure.failed);
			host.noteFailures(failure);
		}
		sampled += rows.length;
		for (const { sample } of rows) {
			sampledTokens += sample.tokens.length - sample.promptLength;
			host.progress.tokens += sample.tokens.length;
		}
		const isDead = deadOf(rows);
		for (const [g, gone] of isDead.entries()) {
			const group = rows.slice(g * size, (g + 1) * size);
			if (stage.dynamic_sampling === true && gone) dead.push(...group);
			else live.push(...group);
		}
		if (stage.dynamic_sampling !== true || live.length >= wanted || round >= (stage.max_resamples ?? 0)) break;
	}
	host.progress.generations++;
	const rollouts = [...live, ...dead].slice(0, wanted);
	return { rollouts, sampled, sampledTokens, errors, metrics };
}
