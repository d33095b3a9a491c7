import * as v from 'valibot';
import { choice, count, described, flag, real, text } from './recipeFields.ts';

/** What only the pytorch and ray engines read in a recipe. */

export const precisionNames = ['float32', 'bfloat16', 'float16'] as const;
export const attentionNames = ['auto', 'eager', 'sdpa', 'flash_attention_2'] as const;
export const strategyNames = ['ddp', 'fsdp'] as const;
export const rewardPlaces = ['hosts', 'in-process'] as const;

export const loraSchema = v.strictObject({
	r: v.optional(count('Rank of the adapters (default 16).', 1, 4096)),
	alpha: v.optional(real('Scale of the adapters (default 2 x r).', 0.001, 65_536)),
	dropout: v.optional(real('Dropout of the adapters (default 0).', 0, 0.99)),
	targets: v.optional(
		described(
			v.union([v.literal('all-linear'), v.array(v.string())], 'must be "all-linear" or a list of module names'),
			'Which modules get adapters (default all-linear).',
		),
	),
	quantize: v.optional(choice(['none', '4bit', '8bit'], 'Load the frozen weights quantized, QLoRA (default none).')),
});

export const vllmSchema = v.strictObject({
	mode: v.optional(
		choice(['colocate', 'server'], 'In the training processes, or a server of its own (default colocate).'),
	),
	server: v.optional(text('server: its base URL, such as http://127.0.0.1:8000.')),
	memory: v.optional(real('colocate: share of GPU memory for vLLM (default 0.3).', 0.01, 0.99)),
	tensorParallel: v.optional(count('colocate: GPUs that share one copy of the model (default 1).', 1, 1024)),
});

export const pytorchSchema = v.strictObject({
	processes: v.optional(
		count('Training processes on this machine, one a GPU (default 1; more need torchrun).', 1, 1024),
	),
	strategy: v.optional(choice(strategyNames, 'How several processes share the model (default ddp).')),
	precision: v.optional(
		choice(precisionNames, 'Arithmetic of training (default bfloat16 on a GPU that has it, else float32).'),
	),
	attention: v.optional(choice(attentionNames, 'Implementation of attention (default auto).')),
	gradientCheckpointing: v.optional(flag('Compute activations again in place of keeping them (default false).')),
	microBatch: v.optional(
		count(
			'Rows of one forward and backward in a process; more accumulate gradients (default: all of them).',
			1,
			65_536,
		),
	),
	packing: v.optional(flag('sft and distill: several short rows in one sequence (default false).')),
	maxLength: v.optional(count('sft, distill, dpo, reward models: longest row in tokens (default 1024).', 8, 1_048_576)),
	lora: v.optional(described(loraSchema, 'Train low-rank adapters in place of all weights (Hu et al. 2021).')),
	vllm: v.optional(described(vllmSchema, 'Generate with vLLM.')),
	rewards: v.optional(
		choice(
			rewardPlaces,
			'Where reward files run: in host processes with limits, or, Python ones alone, inside the trainer (default hosts).',
		),
	),
});
export type PytorchSettings = v.InferOutput<typeof pytorchSchema>;

export const raySchema = v.strictObject({
	address: v.optional(
		text("The cluster's dashboard, such as http://127.0.0.1:8265 (default: the environment's RAY_ADDRESS)."),
	),
	workers: v.optional(count('Training workers (default 1).', 1, 65_536)),
	cpusPerWorker: v.optional(real('Processors of a worker (default 1).', 0, 4096)),
	gpusPerWorker: v.optional(real('GPUs of a worker (default 1 with device cuda, else 0).', 0, 64)),
	storage: v.optional(
		text(
			'A folder that all nodes of the cluster see, for the run and its checkpoints (needed with more than one node).',
		),
	),
	restarts: v.optional(count('How often lost workers are replaced before the run crashes (default 3).', 0, 1000)),
	pip: v.optional(
		described(v.array(v.string()), 'Packages that the job installs on the cluster (default: none, they are there).'),
	),
	environment: v.optional(described(v.record(v.string(), v.string()), 'Environment variables of the job.')),
	payload: v.optional(choice(['trl', 'verl'], 'Who trains on the cluster (default trl).')),
	verl: v.optional(
		described(
			v.record(v.string(), v.unknown()),
			"payload verl: further keys of its configuration, by verl's own dotted names.",
		),
	),
});
export type RaySettings = v.InferOutput<typeof raySchema>;
