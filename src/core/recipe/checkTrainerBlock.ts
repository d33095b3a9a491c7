import type { Stage } from '../../protocol/recipe/recipe.ts';
import { stageSchemaOf } from './filledStage.ts';
import type { Report } from './pathFault.ts';

const runFolder = 'run directories have a fixed location and format';

/** TRL options that are set elsewhere in a recipe, and where. */
export const trainerKeysElsewhere: Readonly<Record<string, string>> = {
	max_steps: 'use "steps" in the stage',
	num_train_epochs: 'use "steps" in the stage',
	optim: 'use AdamW with "adam_beta1", "adam_beta2", and "adam_epsilon"',
	warmup_ratio: 'use "warmup_steps" in the stage',
	per_device_train_batch_size: '"microBatch" of "pytorch"',
	gradient_accumulation_steps: 'use the batch settings in the stage and "microBatch" in "pytorch"',
	generation_batch_size: '"prompts_per_step" x "num_generations"',
	auto_find_batch_size: '"microBatch" of "pytorch"',
	seed: 'use "seed" in the recipe',
	data_seed: 'use "seed" in the recipe',
	bf16: '"precision" of "pytorch"',
	fp16: '"precision" of "pytorch"',
	use_cpu: 'use "device" in the recipe',
	gradient_checkpointing: '"gradientCheckpointing" of "pytorch"',
	packing: '"packing" of "pytorch"',
	max_length: '"maxLength" of "pytorch"',
	fsdp: '"strategy" of "pytorch"',
	reward_weights: 'use the "weight" of each reward',
	use_vllm: '"vllm" of "pytorch"',
	vllm_mode: '"vllm" of "pytorch"',
	vllm_server_base_url: '"vllm" of "pytorch"',
	vllm_server_host: '"vllm" of "pytorch"',
	vllm_server_port: '"vllm" of "pytorch"',
	vllm_gpu_memory_utilization: '"vllm" of "pytorch"',
	vllm_tensor_parallel_size: '"vllm" of "pytorch"',
	save_strategy: 'use "checkpoint" in the recipe',
	save_steps: 'use "checkpoint" in the recipe',
	save_total_limit: 'use "checkpoint" in the recipe',
	eval_strategy: 'use "evaluate" in the recipe',
	eval_steps: 'use "evaluate" in the recipe',
	do_eval: 'use "evaluate" in the recipe',
	output_dir: runFolder,
	logging_dir: runFolder,
	run_name: 'use "name" in the recipe',
	report_to: runFolder,
	logging_strategy: runFolder,
	logging_steps: runFolder,
	push_to_hub: runFolder,
	shuffle_dataset: 'the order of problems is determined by "seed"',
};

/**
 * Reports `trainer` options that are set elsewhere in a recipe. TRL's own options are validated where TRL is installed.
 */
export function checkTrainerBlock(stage: Stage, index: number, report: Report): void {
	if (!('trainer' in stage) || stage.trainer === undefined) return;
	const { keys } = stageSchemaOf(stage.type) ?? { keys: {} };
	for (const key of Object.keys(stage.trainer)) {
		const place = ['stages', index, 'trainer', key];
		const elsewhere = trainerKeysElsewhere[key];
		if (Object.hasOwn(keys, key)) report(place, `"${key}" is a stage key. Move it out of "trainer".`);
		else if (elsewhere !== undefined) report(place, `"${key}" cannot be set in "trainer": ${elsewhere}.`);
	}
}
