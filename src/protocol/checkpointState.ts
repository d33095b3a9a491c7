import * as v from 'valibot';
import { headNames, hyperparametersSchema } from './control.ts';

export const checkpointFormat = 1;

/** Names of the files of a checkpoint folder. */
export const checkpointFiles = {
	state: 'state.json',
	model: 'model.safetensors',
	optimizer: 'optimizer.safetensors',
	reference: 'reference.safetensors',
	/** Heads, each with a trunk of its own, and the moments of the one in training. */
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

export const modelShapeSchema = v.object({
	vocabulary: size,
	context: size,
	width: size,
	heads: size,
	layers: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)),
	feedForward: size,
});

/** state.json of a checkpoint: everything of a run that is not a tensor. Unknown fields are kept. */
export const checkpointStateSchema = v.looseObject({
	format: v.number(),
	run: v.object({ id: v.string(), name: v.string() }),
	/** Optimizer updates done, over all stages. */
	step: whole,
	/** The stage that the next update belongs to, and the updates that it has had. `index` may be one past the last. */
	stage: v.object({ index: whole, step: whole }),
	/** Updates since the optimizer was reset (the bias correction of AdamW needs it). */
	updates: whole,
	/** Tokens trained on or sampled so far. */
	tokens: whole,
	/**
	 * All random streams are functions of the seed and of these counters, so the counters are the random state:
	 * `problems` read from the dataset or the generator, and generation batches sampled.
	 */
	random: v.object({ seed: whole, problems: whole, generations: whole }),
	/** Changes of hyperparameters in force in this stage. */
	hyperparameters: hyperparametersSchema,
	/** The head in training and its updates since its stage began. */
	head: v.optional(v.object({ name: v.picklist(headNames), updates: whole })),
	/** The best held-out accuracy of the run and its step. */
	best: v.nullable(v.object({ step: whole, accuracy: v.number() })),
	/** The step of the last held-out evaluation. */
	evaluatedAt: v.nullable(whole),
	shape: modelShapeSchema,
	/** FNV hash of the vocabulary: weights of another vocabulary do not fit. */
	vocabulary: v.string(),
	versions: v.record(v.string(), v.string()),
	files: v.record(v.string(), v.object({ bytes: whole, sha256: v.string() })),
});
export type CheckpointState = v.InferOutput<typeof checkpointStateSchema>;
