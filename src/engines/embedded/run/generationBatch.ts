import { Failure } from '../../../base/failure.ts';
import type { AdvantageKeys } from '../../../core/grpo/advantages/advantageSettings.ts';
import { type BatchScore, type RewardFailures, type RowScore, scoreBatch } from '../../shared/scoreBatch.ts';
import type { PerToken, Sample } from '../learner.ts';
import { advantagesOf } from './advantagesOf.ts';
import type { PosedProblem } from './problemFeed.ts';
import type { StageHost, Verdict } from './stageHost.ts';

/** Sampling settings for a stage type. */
export interface SamplingStage extends AdvantageKeys {
	readonly type: string;
	readonly prompts_per_step: number;
	readonly num_generations: number;
	readonly max_completion_length: number;
	readonly temperature: number;
	readonly dynamic_sampling?: boolean;
	readonly max_resamples?: number;
}

/** A sampled and scored completion. */
export interface Rollout extends RowScore {
	readonly posed: PosedProblem;
	readonly sample: Sample;
	/** Completion text without special tokens. */
	readonly completion: string;
}

export interface GenerationBatch {
	/** Rollouts, with the rows in each group contiguous. */
	readonly rollouts: readonly Rollout[];
	/** Number of completions sampled, including those discarded by dynamic sampling. */
	readonly sampled: number;
	/** Number of completion tokens sampled. */
	readonly sampledTokens: number;
	/** For each reward, the number of sampled rows on which it failed. Omits rewards without failures. */
	readonly errors: ReadonlyMap<string, number>;
	/**
	 * Values that rewards passed to TRL's `log_metric`. With several rounds, contains only the values from the last one.
	 */
	readonly metrics: Readonly<Record<string, number>>;
}

/** Thrown if too many rows in a batch have no reward. The batch has had no effect at this point. */
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
				entropy: meanOf((samples[i] as Sample).entropies),
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

function meanOf(values: PerToken): number {
	return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Returns the next batch for a stage. If rewards failed on too many rows, the batch is retried when the user continues.
 * If it was dropped for an external request, it is retried after the request. Returns `stop` if it will not be retried.
 */
export async function nextGeneration(
	host: StageHost,
	stage: () => SamplingStage | Promise<SamplingStage>,
): Promise<GenerationBatch | 'stop'> {
	for (;;) {
		let verdict: Verdict;
		try {
			return await sampleBatch(host, await stage());
		} catch (error) {
			// The weights are unchanged, so sampling again gives the same batch.
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
 * sampling (DAPO, Yu et al. 2025, section 3.2), groups with equal rewards are replaced with groups from additional
 * rounds, up to `max_resamples` rounds. If there are not enough, the rest of the batch is filled with dead groups.
 * @throws {ScoringFailed} if a reward fails on more rows than the recipe allows, or `cancelled` if the run must stop.
 * In both cases, the counters are unchanged, so the same batch can be sampled again.
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
		const { dead: isDead } = advantagesOf(host, stage, rows);
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
