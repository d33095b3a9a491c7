import type { Stage } from '../../protocol/recipe.ts';
import { stageSchemaOf } from './filledStage.ts';
import type { Report } from './pathFault.ts';

const runFolder = 'the run directory has its own place and form';

/** TRL options that are set elsewhere in a recipe, and where. */
export const trainerKeysElsewhere: Readonly<Record<string, string>> = {
	max_steps: '"steps" of the stage',
	num_train_epochs: '"steps" of the stage',
	optim: 'AdamW by "adam_beta1", "adam_beta2" and "adam_epsilon"',
	warmup_ratio: '"warmup_steps" of the stage',
	per_device_train_batch_size: '"microBatch" of "pytorch"',
	gradient_accumulation_steps: 'the batch of the stage and "microBatch" of "pytorch"',
	generation_batch_size: '"prompts_per_step" x "num_generations"',
	auto_find_batch_size: '"microBatch" of "pytorch"',
	seed: '"seed" of the recipe',
	data_seed: '"seed" of the recipe',
	bf16: '"precision" of "pytorch"',
	fp16: '"precision" of "pytorch"',
	use_cpu: '"device" of the recipe',
	gradient_checkpointing: '"gradientCheckpointing" of "pytorch"',
	packing: '"packing" of "pytorch"',
	max_length: '"maxLength" of "pytorch"',
	fsdp: '"strategy" of "pytorch"',
	reward_weights: '"weight" of each reward',
	use_vllm: '"vllm" of "pytorch"',
	vllm_mode: '"vllm" of "pytorch"',
	vllm_server_base_url: '"vllm" of "pytorch"',
	vllm_server_host: '"vllm" of "pytorch"',
	vllm_server_port: '"vllm" of "pytorch"',
	vllm_gpu_memory_utilization: '"vllm" of "pytorch"',
	vllm_tensor_parallel_size: '"vllm" of "pytorch"',
	save_strategy: '"checkpoint" of the recipe',
	save_steps: '"checkpoint" of the recipe',
	save_total_limit: '"checkpoint" of the recipe',
	eval_strategy: '"evaluate" of the recipe',
	eval_steps: '"evaluate" of the recipe',
	do_eval: '"evaluate" of the recipe',
	output_dir: runFolder,
	logging_dir: runFolder,
	run_name: '"name" of the recipe',
	report_to: runFolder,
	logging_strategy: runFolder,
	logging_steps: runFolder,
	push_to_hub: runFolder,
	shuffle_dataset: 'the order of problems follows from "seed"',
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
		if (Object.hasOwn(keys, key)) report(place, `"${key}" is a key of the stage itself: move it out of "trainer".`);
		else if (elsewhere !== undefined) report(place, `"${key}" has another place in a recipe: ${elsewhere}.`);
	}
}
