import { Random } from '../../src/base/random.ts';
import { computeAdvantages } from '../../src/core/grpo/advantages/groupAdvantages.ts';
import { recipeOrThrow } from '../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../src/core/recipe/resolve.ts';
import type { ResolvedGrpoStage } from '../../src/core/recipe/resolvedRecipe.ts';
import { createLearner } from '../../src/engines/embedded/createLearner.ts';
import type { Learner, PerToken, Sample } from '../../src/engines/embedded/learner.ts';
import { parameterSpecs } from '../../src/engines/embedded/model/parameters.ts';
import type { RowAdvantage } from '../../src/engines/embedded/run/advantagesOf.ts';
import { readCheckpoint, storedParameters } from '../../src/engines/embedded/run/checkpointFolder.ts';
import { creditedTurns, tokensOfTurns, turnLengths } from '../../src/engines/embedded/run/episodes/turnCredit.ts';
import { objectiveOf } from '../../src/engines/embedded/run/objectiveOf.ts';
import type { Rollout } from '../../src/engines/embedded/run/rollout.ts';
import { prepareSampler, samplerInputs } from '../../src/engines/embedded/run/samplerTerms.ts';
import type { StageHost } from '../../src/engines/embedded/run/stageHost.ts';
import { overAll, trainedLength } from '../../src/engines/embedded/run/trainedTokens.ts';
import { type TrainingRow, weigh } from '../../src/engines/embedded/run/trainingRow.ts';
import { Stopwatch } from '../../src/engines/shared/stopwatch.ts';
import { labCheckpoint } from './labCheckpoint.ts';

/** Rollouts from stale weights, and the loss of one update on them with each objective supported by both engines. */
export const labLosses = new URL('../fixtures/trainer/labLosses.json', import.meta.url);

export interface LossRow {
	readonly tokens: readonly number[];
	readonly promptLength: number;
	/** 0 for tokens from an environment. */
	readonly trained: readonly number[];
	/** Set for some rows, regardless of how they end. */
	readonly truncated: boolean;
	readonly reward: number;
	/** Part of the reward that each turn earned, or null for turns without a reward. */
	readonly turnRewards: readonly (number | null)[];
	readonly samplerLogprobs: readonly number[];
	readonly oldLogprobs: readonly number[];
	readonly refLogprobs: readonly number[];
}

export interface LossCase {
	/** The stage as resolved for the embedded engine. */
	readonly stage: ResolvedGrpoStage;
	/** Before the sampler correction, which the trainer's test computes itself. */
	readonly advantages: readonly number[];
	/** Advantages of the turns, if they have their own. */
	readonly turns?: readonly (readonly number[])[];
	readonly loss: number;
}

export interface LabLosses {
	readonly rows: readonly LossRow[];
	readonly cases: readonly LossCase[];
}

const correction = { vllm_importance_sampling_correction: true };
const objectives: readonly object[] = [
	{ loss_type: 'grpo' },
	{ loss_type: 'grpo', beta: 0.04, mask_truncated_completions: true },
	{ loss_type: 'bnpo', use_bias_correction_kl: true, beta: 0.04 },
	{ loss_type: 'dr_grpo', scale_rewards: 'none' },
	{ loss_type: 'dapo', epsilon_high: 0.28, delta: 1.5 },
	{ loss_type: 'luspo', importance_sampling_level: 'sequence', epsilon: 0.02 },
	{ loss_type: 'grpo', importance_sampling_level: 'sequence', epsilon: 0.02, off_policy_mask_threshold: 0.001 },
	{ loss_type: 'cispo', epsilon_high: 1.2 },
	{ loss_type: 'sapo', sapo_temperature_neg: 2 },
	{ loss_type: 'vespo', scale_rewards: 'batch' },
	{ loss_type: 'gmpo', epsilon: 0.1 },
	{ loss_type: 'dppo_tv', epsilon: 0.02, epsilon_high: 0.01 },
	{ loss_type: 'dppo_kl', epsilon: 0.001 },
	{
		loss_type: 'dapo',
		...correction,
		vllm_importance_sampling_mode: 'token_truncate',
		vllm_importance_sampling_clip_max: 1.1,
	},
	{
		loss_type: 'bnpo',
		...correction,
		vllm_importance_sampling_mode: 'token_mask',
		vllm_importance_sampling_clip_min: 0.7,
	},
	{ loss_type: 'grpo', ...correction, vllm_importance_sampling_mode: 'sequence_truncate' },
	{ loss_type: 'sapo', ...correction },
	{ loss_type: 'vespo', ...correction },
	{ loss_type: 'grpo', importance_sampling_level: 'sequence_token', epsilon: 0.02, beta: 0.04 },
	{ loss_type: 'dapo', credit_assignment: 'turn', beta: 0.04 },
	{ loss_type: 'dr_grpo', credit_assignment: 'turn', importance_sampling_level: 'sequence_token', epsilon: 0.02 },
	{ loss_type: 'grpo', credit_assignment: 'turn', scale_rewards: 'none', mask_truncated_completions: true },
	{ loss_type: 'luspo', credit_assignment: 'turn', importance_sampling_level: 'sequence', epsilon: 0.02 },
	{ loss_type: 'cispo', credit_assignment: 'turn', scale_rewards: 'batch', epsilon_high: 1.2 },
	{ loss_type: 'sapo', credit_assignment: 'turn', sapo_temperature_neg: 2, ...correction },
	{ loss_type: 'dppo_tv', credit_assignment: 'turn', epsilon: 0.02, epsilon_high: 0.01 },
	// The only objective of TRL's AsyncGRPOTrainer.
	{ loss_type: 'dapo', epsilon: 0.1, epsilon_high: 0.15, mask_truncated_completions: true },
];
/** Turn rewards of each row, which are part of its reward. */
const turnRewards: readonly (number | null)[] = [0.25, null, -0.5];

const temperature = 0.9;
const size = 4;
const stageOf = (objective: object): ResolvedGrpoStage => {
	const stage = {
		...{ type: 'grpo', steps: 1, learning_rate: 1e-3, temperature, num_generations: size, prompts_per_step: 2 },
		...{ max_completion_length: 24, skip_dead_groups: false, ...objective },
	};
	const model = { layers: 1, width: 16, heads: 2 };
	const episodes = { environment: { file: 'a.env.py' }, rewards: [{ use: 'environment' }] };
	const text = JSON.stringify({
		...{ name: 'losses', dataset: { task: 'addition' }, model, stages: [stage] },
		...('credit_assignment' in objective ? episodes : {}),
	});
	const { recipe } = recipeOrThrow(text, 'recipe');
	const resolved = resolveRecipe(recipe, { cores: 1, resolvePath: (path) => path });
	return resolved.stages[0] as ResolvedGrpoStage;
};

/** Samples with the policy's weights plus noise, and scores with less noise, as if by older weights. */
export async function labRows(): Promise<LossRow[]> {
	return withLearner(async (learner, weights) => {
		const noisy = async (deviation: number) => {
			const random = Random.of('labLosses', deviation);
			const zeros = new Float32Array(weights.length);
			const parameters = weights.map((value) => value + deviation * random.normal());
			await learner.restore({ parameters, firstMoments: zeros, secondMoments: zeros, updates: 0 });
		};
		await noisy(0.02);
		const prompts = [
			[1, 10, 17, 11],
			[1, 12],
		].flatMap((prompt) => new Array<number[]>(size).fill(prompt));
		const seeds = prompts.map((_, i) => `row ${i}`);
		const samples = await learner.sample({ prompts, seeds, maxNewTokens: 10, temperature });
		await noisy(0.012);
		const old = await learner.logprobs(samples, 'policy', temperature);
		await noisy(0.008);
		const reference = await learner.logprobs(samples, 'policy', temperature);
		return samples.map(({ tokens, promptLength, logprobs }, i) => {
			// In every second row, some tokens come from an environment. Half of these end with a turn of the policy.
			const trained = Array.from(logprobs, (_, t) => Number(i % 2 === 0 || t % (i % 4 === 1 ? 4 : 6) < 2));
			return {
				...{
					tokens,
					promptLength,
					trained,
					truncated: i % 4 === 1,
					reward: [1, 0, 0.25, 1, 0, 0, 0.5, 0][i] as number,
				},
				turnRewards: turnLengths({ tokens, promptLength, trained: Uint8Array.from(trained) } as Sample).map(
					(_, k) => turnRewards[(i + k) % 3] ?? null,
				),
				samplerLogprobs: [...logprobs],
				oldLogprobs: [...(old[i] as PerToken)],
				refLogprobs: [...(reference[i] as PerToken)],
			};
		});
	});
}

/** Returns the engine's loss on given rollouts with every objective. */
export async function labLossCases(rows: readonly LossRow[]): Promise<LossCase[]> {
	return withLearner(async (learner) => {
		const cases: LossCase[] = [];
		for (const objective of objectives) {
			const stage = stageOf(objective);
			const advantages = [
				...computeAdvantages(
					rows.map(({ reward }) => reward),
					size,
					stage.scale_rewards,
				).values,
			];
			const credited = stage.credit_assignment === 'turn' ? turnsOf(stage, rows) : null;
			const loss = await lossOf(learner, stage, rows, credited ?? advantages);
			const turns = credited?.map((one) => [...one]);
			cases.push({ stage, advantages, ...(turns === undefined ? {} : { turns }), loss });
		}
		return cases;
	});
}

const sampleOf = (row: LossRow): Sample => ({
	...{ tokens: row.tokens, promptLength: row.promptLength, truncated: row.truncated },
	logprobs: Float32Array.from(row.samplerLogprobs),
	entropies: Float32Array.from(row.samplerLogprobs, () => 0),
	trained: Uint8Array.from(row.trained),
});

/** Returns the advantages of the turns of each row. */
function turnsOf(stage: ResolvedGrpoStage, rows: readonly LossRow[]): Float64Array[] {
	const rollouts = rows.map((row) => {
		const turns = row.turnRewards.map((reward) => (reward === null ? {} : { reward }));
		return { sample: sampleOf(row), reward: row.reward, episode: { turns } } as unknown as Rollout;
	});
	return creditedTurns(rollouts, 1, size, stage.scale_rewards);
}

/** Returns the loss of one update, which does not change the weights. */
async function lossOf(
	learner: Learner,
	stage: ResolvedGrpoStage,
	rows: readonly LossRow[],
	advantages: readonly RowAdvantage[],
): Promise<number> {
	const training = rows.map((row, i): TrainingRow => {
		const sample = sampleOf(row);
		const own = advantages[i] as RowAdvantage;
		return {
			...{ rollout: { sample } as Rollout, length: trainedLength(sample) },
			...(typeof own === 'number' ? { advantage: own } : { advantage: 0, tokenAdvantages: tokensOfTurns(sample, own) }),
			masked: stage.mask_truncated_completions && row.truncated,
			oldLogprobs: Float32Array.from(row.oldLogprobs),
			refLogprobs: Float32Array.from(row.refLogprobs),
		};
	});
	// The correction must use the recorded log-probabilities as the old policy's, not those of the current policy.
	const recorded = { ...learner, logprobs: async () => training.map(({ oldLogprobs }) => oldLogprobs as PerToken) };
	const host = { watch: new Stopwatch(), parts: { learner: recorded } } as unknown as StageHost;
	await prepareSampler(host, stage, training);
	const [part] = weigh(stage, [training]);
	const updated = (part?.kept ?? []).map(({ row, weight }) => {
		const { tokens, promptLength, trained } = row.rollout.sample;
		const weights = overAll(new Float32Array(row.length).fill(weight), trained);
		const { oldLogprobs, refLogprobs } = row;
		return { tokens, promptLength, weights, oldLogprobs, refLogprobs, ...samplerInputs(row, stage, undefined) };
	});
	const settings = { ...objectiveOf(stage), temperature: stage.temperature };
	const still = { learningRate: 0, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 0 };
	return (await learner.updateGrpo(updated, settings, still)).loss;
}

async function withLearner<T>(task: (learner: Learner, weights: Float32Array) => Promise<T>): Promise<T> {
	const checkpoint = await readCheckpoint(labCheckpoint);
	const { shape } = checkpoint.state;
	const parameters = storedParameters(checkpoint, parameterSpecs(shape));
	const sizes = { device: 'cpu', workers: 1, sampleRows: 8, trainRows: 8 } as const;
	const learner = await createLearner({ shape, parameters, ...sizes });
	try {
		return await task(learner, parameters);
	} finally {
		await learner.dispose();
	}
}
