import { Failure } from '../../../base/failure.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { RolloutEpisode } from '../../../protocol/rolloutEpisode.ts';
import { advantagesOf } from './advantagesOf.ts';
import { chosenProblems } from './curriculum/chosenProblems.ts';
import { episodeMetrics } from './episodes/episodeMetrics.ts';
import { proposedGroups } from './proposals/proposedGroups.ts';
import { type Rollout, type SamplingStage, ScoringFailed } from './rollout.ts';
import { sampleGroups } from './sampleGroups.ts';
import type { SamplingHost, StageHost, Verdict } from './stageHost.ts';
import { trainedLength } from './trainedTokens.ts';

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
	 * Values that rewards passed to TRL's `log_metric`, and metrics for episodes, the curriculum and proposals. With
	 * several rounds, contains only the values that rewards logged in the last one.
	 */
	readonly metrics: Metrics;
}

/**
 * Returns the next batch for a stage. If rewards failed on too many rows, the batch is retried when the user continues.
 * If the batch was dropped for an external request, it is retried after that request. Returns `stop` if the batch will
 * not be retried.
 */
export async function nextGeneration(
	host: StageHost,
	stage: () => SamplingStage | Promise<SamplingStage>,
): Promise<GenerationBatch | 'stop'> {
	return retried(host, async () => sampleBatch(host, await stage()));
}

/** Runs `sample` until it returns a batch; see {@link nextGeneration}. Returns `stop` if it will not be run again. */
export async function retried<T>(host: StageHost, sample: () => Promise<T>): Promise<T | 'stop'> {
	for (;;) {
		let verdict: Verdict;
		try {
			return await sample();
		} catch (error) {
			// The weights are unchanged, so sampling again produces the same batch.
			if (error instanceof ScoringFailed) {
				verdict = await host.holdBatch(error.failures);
				await host.parts.episodes?.reload();
			} else if (error instanceof Failure && error.reason === 'cancelled' && host.interrupt.aborted) {
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
export async function sampleBatch(host: SamplingHost, stage: SamplingStage): Promise<GenerationBatch> {
	const { progress, parts } = host;
	const { cursor } = parts.feed;
	const { tokens, curriculum } = progress;
	try {
		return await takeBatch(host, stage);
	} catch (error) {
		parts.feed.cursor = cursor;
		progress.tokens = tokens;
		progress.curriculum = curriculum;
		throw error;
	}
}

async function takeBatch(host: SamplingHost, stage: SamplingStage): Promise<GenerationBatch> {
	const size = stage.num_generations;
	const live: Rollout[] = [];
	const dead: Rollout[] = [];
	const wanted = stage.prompts_per_step * size;
	const errors = new Map<string, number>();
	let metrics: Metrics = {};
	const episodes: RolloutEpisode[] = [];
	let sampled = 0;
	let sampledTokens = 0;
	const chosen = chosenProblems(host, stage);
	const nextPosed = () => host.parts.feed.nextPosed(stage.prompts_per_step, stage.max_completion_length);
	for (let round = 0; ; round++) {
		const {
			rows,
			failures,
			metrics: logged,
		} = stage.proposals === undefined
			? await sampleGroups(host, stage, chosen?.next(round) ?? nextPosed(), round)
			: await proposedGroups(host, stage, stage.proposals);
		metrics = { ...metrics, ...logged };
		for (const failure of failures) {
			if (failure.failed > host.parts.recipe.scoring.pauseAbove * failure.rows) throw new ScoringFailed(failure);
			errors.set(failure.column, (errors.get(failure.column) ?? 0) + failure.failed);
			host.noteFailures(failure);
		}
		sampled += rows.length;
		for (const { sample, episode } of rows) {
			const written = trainedLength(sample);
			sampledTokens += written;
			host.progress.tokens += sample.promptLength + written;
			if (episode !== undefined) episodes.push(episode);
		}
		const { dead: isDead } = advantagesOf(host, stage, rows);
		chosen?.record(rows, isDead);
		for (const [g, gone] of isDead.entries()) {
			const group = rows.slice(g * size, (g + 1) * size);
			if (stage.dynamic_sampling === true && gone) dead.push(...group);
			else live.push(...group);
		}
		if (stage.dynamic_sampling !== true || live.length >= wanted || round >= (stage.max_resamples ?? 0)) break;
	}
	host.progress.generations++;
	const rollouts = [...live, ...dead].slice(0, wanted);
	const own = { ...episodeMetrics(episodes), ...chosen?.metrics() };
	return { rollouts, sampled, sampledTokens, errors, metrics: { ...metrics, ...own } };
}
