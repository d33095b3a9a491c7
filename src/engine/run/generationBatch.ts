import { type Advantages, computeAdvantages } from '../../core/grpo/advantages.ts';
import type { ResolvedGrpoStage } from '../../core/recipe/resolvedRecipe.ts';
import type { Sample } from '../learner.ts';
import { type BatchScore, type RewardFailures, type RowScore, scoreBatch } from '../shared/scoreBatch.ts';
import type { PosedProblem } from './problemFeed.ts';
import type { StageHost } from './stageHost.ts';

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
	readonly advantages: Advantages;
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
	stage: ResolvedGrpoStage,
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
 * Samples and scores one generation batch: `prompts_per_step` groups of `num_generations` completions. With dynamic
 * sampling (DAPO, Yu et al. 2025, section 3.2) groups whose rewards are all equal are replaced by groups of further
 * rounds, `max_resamples` rounds at most; what is then still missing is filled with dead groups.
 *
 * @throws {ScoringFailed} when a reward fails on more rows than the recipe goes on with; `cancelled` when the run is to
 * stop. Then the counters are those of before, so that the same batch can be sampled again.
 */
export async function sampleBatch(host: StageHost, stage: ResolvedGrpoStage): Promise<GenerationBatch> {
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

async function takeBatch(host: StageHost, stage: ResolvedGrpoStage): Promise<GenerationBatch> {
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
			if (stage.dynamic_sampling && gone) dead.push(...group);
			else live.push(...group);
		}
		if (!stage.dynamic_sampling || live.length >= wanted || round >= stage.max_resamples) break;
	}
	host.progress.generations++;
	const rollouts = [...live, ...dead].slice(0, wanted);
	const advantages = computeAdvantages(
		rollouts.map((row) => row.reward),
		size,
		stage.scale_rewards,
	);
	return { rollouts, advantages, sampled, sampledTokens, errors, metrics };
}
