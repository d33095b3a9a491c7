import * as v from 'valibot';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { group, key, place } from './recipeKey.ts';
import type { ResolvedValue } from './resolvedKeys.ts';

/** Recipe keys that only the pytorch and ray engines read. */

export const precisionNames = ['float32', 'bfloat16', 'float16'] as const;
export const attentionNames = ['auto', 'eager', 'sdpa', 'flash_attention_2'] as const;
export const strategyNames = ['ddp', 'fsdp'] as const;
export const rewardPlaces = ['hosts', 'in-process'] as const;

export const loraSchema = group({
	r: key(count('Rank of the adapters.', 1, 4096), 16),
	alpha: key(real('Scale of the adapters.', 0.001, 65_536), (_context, { r }): number => 2 * r, { or: '2 x r' }),
	dropout: key(real('Dropout of the adapters.', 0, 0.99), 0),
	targets: key(
		described(
			v.union([v.literal('all-linear'), v.array(v.string())], 'must be "all-linear" or a list of module names'),
			'Which modules get adapters.',
		),
		'all-linear',
	),
	quantize: key(choice(['none', '4bit', '8bit'], 'Load the frozen weights quantized, QLoRA.'), 'none'),
});

export const vllmSchema = group({
	mode: key(choice(['colocate', 'server'], 'In the training processes, or on a separate server.'), 'colocate'),
	server: key(text('server: its base URL, such as http://127.0.0.1:8000.'), null),
	memory: key(real('colocate: share of GPU memory for vLLM.', 0.01, 0.99), 0.3),
	tensorParallel: key(count('colocate: GPUs that share one copy of the model.', 1, 1024), 1),
});

export const pytorchSchema = group({
	processes: key(count('Training processes on this machine, one per GPU; more than one need torchrun.', 1, 1024), 1),
	strategy: key(choice(strategyNames, 'How processes share the model.'), 'ddp'),
	precision: key(choice(precisionNames, 'Arithmetic of training.'), null, {
		or: 'bfloat16 on a GPU that has it, else float32',
	}),
	attention: key(choice(attentionNames, 'Implementation of attention.'), 'auto'),
	gradientCheckpointing: key(flag('Recompute activations instead of keeping them.'), false, {
		alsoCalled: ['gradient_checkpointing', 'enable_gradient_checkpointing'],
	}),
	microBatch: key(
		count('Rows per forward and backward pass of a process; gradients of more rows are accumulated.', 1, 65_536),
		null,
		{ or: 'all of them' },
	),
	packing: key(flag('sft and distill: several short rows in one sequence.'), false),
	maxLength: key(count('sft, distill, dpo, reward models: max row length in tokens.', 8, 1_048_576), 1024),
	lora: key(described(loraSchema, 'Train low-rank adapters instead of all weights (Hu et al. 2021).'), null),
	vllm: key(described(vllmSchema, 'Generate with vLLM.'), null),
	rewards: key(
		choice(rewardPlaces, 'Where reward files run: in host processes with limits or, Python only, inside the trainer.'),
		'hosts',
	),
});
export type PytorchSettings = v.InferOutput<typeof pytorchSchema>;
export type ResolvedPytorch = ResolvedValue<typeof pytorchSchema>;

export const raySchema = group({
	address: key(text("The cluster's dashboard, such as http://127.0.0.1:8265."), null, {
		or: "the environment's RAY_ADDRESS",
	}),
	workers: key(count('Training workers.', 1, 65_536), 1),
	cpusPerWorker: key(real('CPU cores of a worker.', 0, 4096), 1),
	gpusPerWorker: key(real('GPUs of a worker.', 0, 64), null, { or: '1 with device cuda, else 0' }),
	storage: key(
		place(
			'file',
			text(
				'Folder shared by all nodes of the cluster, for the run and its checkpoints (required with more than one node).',
			),
		),
		null,
	),
	restarts: key(count('Max replacements of lost workers before the run crashes.', 0, 1000), 3),
	pip: key(described(v.array(v.string()), 'Packages that the job installs on the cluster.'), (): never[] => [], {
		or: 'none, they are there',
	}),
	environment: key(described(v.record(v.string(), v.string()), 'Environment variables of the job.'), {}),
	payload: key(choice(['trl', 'verl'], 'Trainer on the cluster.'), 'trl'),
	verl: key(
		described(
			v.record(v.string(), v.unknown()),
			"payload verl: further keys of its configuration, by verl's dotted names.",
		),
		{},
	),
});
export type RaySettings = v.InferOutput<typeof raySchema>;
export type ResolvedRay = ResolvedValue<typeof raySchema>;
