import * as v from 'valibot';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { group, key, place } from './recipeKey.ts';
import type { ResolvedValue } from './resolvedKeys.ts';

/** Recipe keys that only the pytorch and ray engines read. */

export const precisionNames = ['float32', 'bfloat16', 'float16'] as const;
export type PrecisionName = (typeof precisionNames)[number];
export const attentionNames = ['auto', 'eager', 'sdpa', 'flash_attention_2'] as const;
export const strategyNames = ['ddp', 'fsdp'] as const;
export const rewardPlaces = ['hosts', 'in-process'] as const;

export const loraSchema = group({
	r: key(count('Adapter rank.', 1, 4096), 16),
	alpha: key(real('Adapter scale.', 0.001, 65_536), (_context, { r }): number => 2 * r, { or: '2 x r' }),
	dropout: key(real('Adapter dropout.', 0, 0.99), 0),
	targets: key(
		described(
			v.union([v.literal('all-linear'), v.array(v.string())], 'must be "all-linear" or a list of module names'),
			'Modules that get adapters.',
		),
		'all-linear',
	),
	quantize: key(choice(['none', '4bit', '8bit'], 'Quantization of the frozen weights (QLoRA).'), 'none'),
});

export const vllmSchema = group({
	mode: key(
		choice(['colocate', 'server'], 'Whether vLLM runs in the training processes or on a separate server.'),
		'colocate',
	),
	server: key(text('server: base URL, such as http://127.0.0.1:8000.'), null),
	memory: key(real('colocate: fraction of GPU memory for vLLM.', 0.01, 0.99), 0.3),
	tensorParallel: key(count('colocate: number of GPUs that share one copy of the model.', 1, 1024), 1),
});

export const pytorchSchema = group({
	processes: key(
		count('Training processes on this machine, one per GPU; more than one requires torchrun.', 1, 1024),
		1,
	),
	strategy: key(choice(strategyNames, 'How the processes share the model.'), 'ddp'),
	precision: key(choice(precisionNames, 'Training precision.'), null, {
		or: 'as set for the recipe, or bfloat16 on GPUs that support it, otherwise float32',
	}),
	attention: key(choice(attentionNames, 'Attention implementation.'), 'auto'),
	gradientCheckpointing: key(flag('Recompute activations instead of storing them.'), false, {
		alsoCalled: ['gradient_checkpointing', 'enable_gradient_checkpointing'],
	}),
	microBatch: key(
		count('Rows per forward and backward pass in each process; larger batches accumulate gradients.', 1, 65_536),
		null,
		{ or: 'all rows' },
	),
	packing: key(flag('sft and distill: pack several short rows into one sequence.'), false),
	maxLength: key(count('sft, distill, dpo, reward models: max row length in tokens.', 8, 1_048_576), 1024),
	lora: key(described(loraSchema, 'Train low-rank adapters instead of all weights (Hu et al. 2021).'), null),
	vllm: key(described(vllmSchema, 'Generate with vLLM.'), null),
	rewards: key(
		choice(
			rewardPlaces,
			'Where reward files run: in host processes with resource limits or (Python only) inside the trainer.',
		),
		'hosts',
	),
});
export type ResolvedPytorch = ResolvedValue<typeof pytorchSchema>;

export const raySchema = group({
	address: key(text("Address of the cluster's dashboard, such as http://127.0.0.1:8265."), null, {
		or: 'RAY_ADDRESS from the environment',
	}),
	workers: key(count('Number of training workers.', 1, 65_536), 1),
	cpusPerWorker: key(real('CPU cores per worker.', 0, 4096), 1),
	gpusPerWorker: key(real('GPUs per worker.', 0, 64), null, { or: '1 with device cuda, otherwise 0' }),
	storage: key(
		place(
			'file',
			text(
				'Folder for the run and its checkpoints, shared by all nodes in the cluster (required with more than one node).',
			),
		),
		null,
	),
	restarts: key(count('Max number of lost workers to replace before the run crashes.', 0, 1000), 3),
	pip: key(described(v.array(v.string()), 'Packages to install on the cluster for the job.'), (): never[] => [], {
		or: 'none; assumes that the packages are installed',
	}),
	environment: key(described(v.record(v.string(), v.string()), 'Environment variables for the job.'), {}),
	payload: key(choice(['trl', 'verl'], 'Trainer to run on the cluster.'), 'trl'),
	verl: key(
		described(
			v.record(v.string(), v.unknown()),
			"payload verl: additional configuration keys, with verl's dotted names.",
		),
		{},
	),
});
export type ResolvedRay = ResolvedValue<typeof raySchema>;
