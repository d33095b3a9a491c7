import { Random } from '../../../../base/random.ts';
import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import { policyMetrics, valueClipShare } from '../../../../core/ppo/ppoMetrics.ts';
import type { ResolvedPpoStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { CriticRow, PerToken, PpoRow, UpdateResult } from '../../learner.ts';
import { addBatchMetrics, type GraphRow, writeBatch } from '../batchReport.ts';
import { nextGeneration } from '../generationBatch.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';
import type { TrainingRow } from '../trainingRow.ts';
import { type EstimatedRow, estimateBatch } from './criticBatch.ts';

/** Appends an entry, which is ignored, to a list with one entry per completion token. */
function withLast(values: ArrayLike<number>): PerToken {
	const longer = new Float32Array(values.length + 1);
	longer.set(values);
	return longer;
}

function tokensOf(rows: readonly EstimatedRow[]): number {
	return rows.reduce((sum, { length }) => sum + length, 0);
}

async function updatePolicy(
	host: StageHost,
	stage: ResolvedPpoStage,
	part: readonly EstimatedRow[],
	learningRate: number,
): Promise<{ metrics: Metrics; result: UpdateResult }> {
	const weight = 1 / Math.max(1, tokensOf(part));
	const rows = part.map(({ rollout: { sample }, length, advantages, oldLogprobs }): PpoRow => {
		return {
			tokens: sample.tokens,
			promptLength: sample.promptLength,
			weights: new Float32Array(length).fill(weight),
			advantages: Float32Array.from(advantages),
			oldLogprobs,
		};
	});
	const range = { epsilonLow: stage.cliprange, epsilonHigh: stage.cliprange, temperature: stage.temperature };
	const result = await host.watch.measure('update', () =>
		host.parts.learner.updatePpo(rows, range, optimizerSettings(stage, learningRate)),
	);
	checkFinite(result, host.progress.step + 1);
	const seen = part.map(({ advantages, oldLogprobs }, i) => ({
		advantages,
		oldLogprobs,
		logprobs: result.logprobs[i] as PerToken,
		entropies: result.entropies[i] as PerToken,
	}));
	return {
		result,
		metrics: {
			'loss/policy': metricValue(result.loss),
			grad_norm: metricValue(result.gradNorm),
			learning_rate: learningRate,
			...policyMetrics(seen, stage.cliprange),
		},
	};
}

async function updateCritic(
	host: StageHost,
	stage: ResolvedPpoStage,
	part: readonly EstimatedRow[],
): Promise<{ loss: number; metrics: Metrics }> {
	const weight = stage.vf_coef / Math.max(1, tokensOf(part));
	const rows = part.map(({ rollout: { sample }, length, returns, values }): CriticRow => {
		return {
			tokens: sample.tokens,
			promptLength: sample.promptLength,
			weights: withLast(new Float32Array(length).fill(weight)),
			returns: withLast(returns),
			oldValues: withLast(values),
			logprobs: sample.logprobs,
		};
	});
	const peak = stage.critic_learning_rate ?? stage.learning_rate;
	const learningRate = learningRateAt({ ...stage, learning_rate: peak }, host.progress.stageStep);
	const result = await host.watch.measure('update', () =>
		host.parts.learner.updateCritic(rows, { clipRange: stage.cliprange_value }, optimizerSettings(stage, learningRate)),
	);
	checkFinite(result, host.progress.step + 1);
	const seen = part.map((row, i) => ({ values: result.values[i] as PerToken, oldValues: row.values }));
	return {
		loss: result.loss,
		metrics: {
			'loss/value': stage.vf_coef === 0 ? null : metricValue(result.loss / stage.vf_coef),
			'critic/grad_norm': metricValue(result.gradNorm),
			'critic/clip_ratio': valueClipShare(seen, stage.cliprange_value),
		},
	};
}

/** Splits an epoch's rows into mini-batches. With several mini-batches, reshuffles every epoch, as in TRL. */
function miniBatches(
	rows: readonly EstimatedRow[],
	stage: ResolvedPpoStage,
	seed: number,
	generation: number,
	epoch: number,
): EstimatedRow[][] {
	const order = [...rows];
	const parts = stage.num_mini_batches;
	if (parts > 1) Random.of(seed, 'mini batches', generation, epoch).shuffle(order);
	const cut = (part: number) => Math.floor((part * order.length) / parts);
	return Array.from({ length: parts }, (_, p) => order.slice(cut(p), cut(p + 1)));
}

/** Converts a row for rollout files, where a completion's advantage is the mean over its tokens. */
function asTrainingRow(row: EstimatedRow | null, rollout: TrainingRow['rollout']): TrainingRow {
	const sum = row === null ? 0 : row.advantages.reduce((total, advantage) => total + advantage, 0);
	return {
		rollout,
		advantage: row === null || row.length === 0 ? 0 : sum / row.length,
		masked: row === null,
		length: rollout.sample.tokens.length - rollout.sample.promptLength,
		oldLogprobs: row?.oldLogprobs ?? null,
		refLogprobs: row?.refLogprobs ?? null,
	};
}

/**
 * Proximal policy optimization (Schulman et al. 2017, equation 7) with a separate critic: token rewards that include
 * the KL to the reference, generalized advantage estimation, clipped surrogate and clipped value loss, as in TRL's
 * PPOTrainer (0.20). Policy and critic have separate optimizers. Each step updates both, except that the first
 * `critic_warmup_steps` update only the critic.
 */
export async function runPpoStage(host: StageHost, stageInForce: () => ResolvedPpoStage): Promise<Verdict> {
	const { parts, progress, watch } = host;
	const { seed } = parts.recipe;
	for (;;) {
		let start = performance.now();
		let stage = stageInForce();
		const batchStart = progress.step;
		const batch = await nextGeneration(host, () => {
			stage = stageInForce();
			return stage;
		});
		if (batch === 'stop') return 'stop';
		const left = stage.steps - progress.stageStep;
		const updates = Math.min(stage.num_ppo_epochs * stage.num_mini_batches, left);
		const { rows, metrics: batchMetrics } = await estimateBatch(host, stage, batch, updates > 1);
		const learned = rows.filter((row) => row !== null);
		const trainingRows = rows.map((row, i) => asTrainingRow(row, batch.rollouts[i] as (typeof batch.rollouts)[number]));
		writeBatch(host, stage, trainingRows);
		const generateSeconds = watch.seconds('generate');
		let graph: readonly GraphRow[] | null = null;
		for (let u = 0; u < updates; u++) {
			const epoch = Math.floor(u / stage.num_mini_batches);
			const mini = miniBatches(learned, stage, seed, progress.generations, epoch)[u % stage.num_mini_batches] ?? [];
			const metrics: Metrics = { ...(u === 0 ? batchMetrics : {}) };
			let loss = 0;
			if (progress.stageStep >= stage.critic_warmup_steps) {
				const policy = await updatePolicy(host, stage, mini, learningRateAt(stage, progress.stageStep));
				Object.assign(metrics, policy.metrics);
				loss += policy.result.loss;
				if (u === 0) {
					const place = new Map(batch.rollouts.map((rollout, i) => [rollout, trainingRows[i] as TrainingRow]));
					graph = mini.map(({ rollout }, i) => ({
						row: place.get(rollout) as TrainingRow,
						logprobs: policy.result.logprobs[i] as PerToken,
					}));
				}
			}
			const critic = await updateCritic(host, stage, mini);
			Object.assign(metrics, critic.metrics, { loss: metricValue(loss + critic.loss) });
			if (u === 0) {
				// PPO advantages are not group-relative.
				const about = { batch, rows: trainingRows, groups: null, generateSeconds, graph: graph ?? [] };
				addBatchMetrics(host, metrics, about);
			}
			metrics.num_tokens = progress.tokens;
			metrics.step_time = (performance.now() - start) / 1000;
			const verdict = await host.endUpdate({ metrics, batchStart, batchEnds: u === updates - 1 });
			if (verdict !== 'next') return verdict;
			start = performance.now();
		}
	}
}
