import * as v from 'valibot';
import { headNames, hyperparametersSchema } from './control.ts';

export const checkpointFormat = 1;

/** File names in a checkpoint folder. */
export const checkpointFiles = {
	state: 'state.json',
	model: 'model.safetensors',
	optimizer: 'optimizer.safetensors',
	reference: 'reference.safetensors',
	/** Weights used to sample batches in progress, stored as `VERSION.NAME`. */
	ahead: 'ahead.safetensors',
	/** Heads, each with its own trunk, and the optimizer moments of the head being trained. */
	value: 'value.safetensors',
	process: 'process.safetensors',
	reward: 'reward.safetensors',
	critic: 'critic.safetensors',
	headOptimizer: 'head_optimizer.safetensors',
	tokenizer: 'tokenizer.json',
	policy: 'policy.onnx',
} as const;

const size = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1e9));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

const passCount = v.pipe(v.number(), v.finite(), v.minValue(0));

export const modelShapeSchema = v.object({
	vocabulary: size,
	context: size,
	width: size,
	heads: size,
	layers: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)),
	feedForward: size,
});

/**
 * Schema of a checkpoint's state.json, which contains everything about a run that is not a tensor. Unknown fields are
 * preserved.
 */
export const checkpointStateSchema = v.looseObject({
	format: v.number(),
	run: v.object({ id: v.string(), name: v.string() }),
	/** Number of optimizer updates, across all stages. */
	step: whole,
	/** Stage of the next update, and number of updates completed in it. `index` can be one past the last stage. */
	stage: v.object({ index: whole, step: whole }),
	/** Number of updates since the optimizer was reset, required for AdamW's bias correction. */
	updates: whole,
	/** Number of tokens trained on or sampled so far. */
	tokens: whole,
	/**
	 * Random state. All random streams are functions of the seed and two counters: the number of problems read from the
	 * dataset or generator, and the number of generation batches sampled.
	 */
	random: v.object({ seed: whole, problems: whole, generations: whole }),
	/** Hyperparameter changes in effect in this stage. */
	hyperparameters: hyperparametersSchema,
	/** The head being trained, and its number of updates since the start of the stage. */
	head: v.optional(v.object({ name: v.picklist(headNames), updates: whole })),
	/** Best held-out accuracy in the run, and its step. */
	best: v.nullable(v.object({ step: whole, accuracy: v.number() })),
	/** Step of the last held-out evaluation. */
	evaluatedAt: v.nullable(whole),
	/** Entropy bonus of the stage, and the entropy it was last adapted to. */
	entropyBonus: v.optional(v.object({ coefficient: v.number(), entropy: v.nullable(v.number()) })),
	/**
	 * Curriculum of the stage: number of problems read before those in its pool, and decayed counts of correct and
	 * incorrect completions for each problem in the pool.
	 */
	curriculum: v.optional(v.object({ first: whole, successes: v.array(passCount), failures: v.array(passCount) })),
	/**
	 * Generation batches that were being sampled or waiting to be trained on, in order: version (number of updates) of
	 * the sampling weights, step of the first update on the batch, and temperature.
	 */
	ahead: v.optional(v.array(v.object({ version: whole, firstStep: whole, temperature: v.number() }))),
	/** Number of latent thoughts before a completion. Absent if prompts have no slots for them. */
	thoughts: v.optional(whole),
	shape: modelShapeSchema,
	/** FNV hash of the vocabulary, used to detect weights trained with a different one. */
	vocabulary: v.string(),
	versions: v.record(v.string(), v.string()),
	files: v.record(v.string(), v.object({ bytes: whole, sha256: v.string() })),
});
export type CheckpointState = v.InferOutput<typeof checkpointStateSchema>;
