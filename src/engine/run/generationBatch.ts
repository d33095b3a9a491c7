import { type Advantages, computeAdvantages } from '../../core/grpo/advantages.ts';
import type { ResolvedGrpoStage } from '../../core/recipe/resolvedRecipe.ts';
import { combineRewards } from '../../core/reward/combineRewards.ts';
import type { ScoreRow } from '../../protocol/scorer.ts';
import type { Sample } from '../learner.ts';
import type { PosedProblem } from './problemFeed.ts';
import type { StageHost } from './stageHost.ts';

/** One sampled and scored completion. */
export interface Rollout {
	readonly posed: PosedProblem;
	readonly sample: Sample;
	/** Without special tokens. */
	readonly completion: string;
	readonly rewards: Readonly<Record<string, number | null>>;
	/** Weighted sum; null: no reward applied. */
	readonly reward: number | null;
}

export interface GenerationBatch {
	/** The rows of a group lie together. */
	readonly rollouts: readonly Rollout[];
	readonly advantages: Advantages;
	/** Completions that were sampled for it, those that dynamic sampling left out included. */
	readonly sampled: number;
	/** Their completion tokens. */
	readonly sampledTokens: number;
}

/** Scoring is by rule and short; a reward that hangs must not hang the run. */
const scoreTimeoutMs = 60_000;

async function score(host: StageHost, rows: readonly ScoreRow[]): Promise<Record<string, number | null>[]> {
	const { scorers } = host.parts;
	const rewards: Record<string, number | null>[] = rows.map(() => ({}));
	for (const scorer of scorers) {
		const { name } = scorer.description;
		const result = await scorer.score(rows, { timeoutMs: scoreTimeoutMs });
		const first = result.errors[0];
		if (first) {
			host.alert(
				'warning',
				`The reward "${name}" failed on ${result.errors.length} of ${rows.length} rows: ${first.message}`,
			);
		}
		for (const [i, row] of rewards.entries()) row[name] = result.values[i] ?? null;
	}
	return rewards;
}

async function sampleGroups(host: StageHost, stage: ResolvedGrpoStage, round: number): Promise<Rollout[]> {
	const { parts, progress, watch } = host;
	const posed = parts.feed.nextPosed(stage.prompts_per_step, stage.max_completion_length);
	const rows = posed.flatMap((problem) => new Array<PosedProblem>(stage.num_generations).fill(problem));
	const samples = await watch.measure('generate', () =>
		parts.learner.sample({
			prompts: rows.map((row) => row.promptTokens),
			seeds: rows.map((_, i) => `${parts.recipe.seed}/sample/${progress.generations}/${round}/${i}`),
			maxNewTokens: stage.max_completion_length,
			temperature: stage.temperature,
		}),
	);
	return watch.measure('reward', async () => {
		const completions = samples.map((sample) => parts.tokenizer.decode(sample.tokens.slice(sample.promptLength)));
		const rewards = await score(
			host,
			rows.map(({ problem, prompt }, i) => ({
				prompt,
				completion: completions[i] as string,
				answer: problem.answer,
				row: problem.row,
				truncated: (samples[i] as Sample).truncated,
			})),
		);
		const weights = parts.scorers.map(({ description }) => description.weight);
		return rows.map((posed, i) => {
			const values = rewards[i] as Record<string, number | null>;
			const list = parts.scorers.map(({ description }) => values[description.name] ?? null);
			return {
				posed,
				sample: samples[i] as Sample,
				completion: completions[i] as string,
				rewards: values,
				reward: combineRewards(list, weights),
			};
		});
	});
}

/**
 * Samples and scores one generation batch: `prompts_per_step` groups of `num_generations` completions. With dynamic
 * sampling (DAPO, Yu et al. 2025, section 3.2) groups whose rewards are all equal are replaced by groups of further
 * rounds, `max_resamples` rounds at most; what is then still missing is filled with dead groups.
 */
export async function sampleBatch(host: StageHost, stage: ResolvedGrpoStage): Promise<GenerationBatch> {
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
	let sampled = 0;
	let sampledTokens = 0;
	for (let round = 0; ; round++) {
		const rows = await sampleGroups(host, stage, round);
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
	return { rollouts, advantages, sampled, sampledTokens };
}
