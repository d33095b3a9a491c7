import { Failure } from '../../../../base/failure.ts';
import type { ResolvedGrpoStage, ResolvedRecipe, ResolvedRlooStage } from '../../../../core/recipe/resolvedRecipe.ts';
import { ownLossKeys } from '../../../../protocol/recipeKeys/groupStages.ts';

/** Placeholder for the run folder on the cluster, replaced by `reasoning_lab_trainer/ray/verl_job.py`. */
export const runPlaceholder = '{{run}}';

export type VerlValue = string | number | boolean | null | readonly VerlValue[] | { readonly [key: string]: VerlValue };
export type VerlSettings = Readonly<Record<string, VerlValue>>;

export interface VerlFacts {
	/** Run name used in verl's own files. */
	readonly id: string;
	/** Maximum prompt length in tokens, or an upper bound on it. */
	readonly promptLength: number;
	readonly submission: string;
}

const refuse = (what: string, action: string) =>
	new Failure('unsupported', `verl does not support the ${what} in this recipe.`, action);

const lossModes: Readonly<Record<string, string>> = {
	grpo: 'seq-mean-token-mean',
	dapo: 'token-mean',
	bnpo: 'token-mean',
	dr_grpo: 'seq-mean-token-sum-norm',
};

/**
 * Translates a recipe to verl 0.7 settings (verl/trainer/config/ppo_trainer.yaml), keyed by dotted name. A verl step is
 * one generation batch with all its updates. Throws `unsupported` for features that verl lacks.
 */
export function verlSettings(recipe: ResolvedRecipe, facts: VerlFacts): VerlSettings {
	const stage = stageOf(recipe);
	const { model, evaluate, checkpoint } = recipe;
	if (!('path' in model)) {
		throw refuse('definition of a new model', 'Set "model" to a model folder or a Hub id.');
	}
	const ray = recipe.ray as NonNullable<ResolvedRecipe['ray']>;
	const gpus = Math.max(1, Math.round(ray.workers * (ray.gpusPerWorker ?? 1)));
	const { prompts_per_step: prompts, num_generations: n, steps_per_generation: parts, num_iterations: passes } = stage;
	if (prompts % parts !== 0) {
		throw refuse(
			`split of ${prompts} prompts into ${parts} parts`,
			'Make prompts_per_step a multiple of steps_per_generation.',
		);
	}
	const updates = parts * passes;
	const batches = (steps: number) => Math.max(1, Math.round(steps / updates));
	const micro = recipe.pytorch?.microBatch ?? Math.max(1, Math.floor(((prompts / parts) * n) / gpus));
	const place = (name: string) => `${runPlaceholder}/${name}`;
	return {
		...algorithm(stage),
		'data.train_files': place('data/train.parquet'),
		'data.val_files': place('data/validation.parquet'),
		'data.train_batch_size': prompts,
		'data.max_prompt_length': facts.promptLength,
		'data.max_response_length': stage.max_completion_length,
		'data.filter_overlong_prompts': true,
		'data.truncation': 'error',
		'data.seed': recipe.seed,
		'actor_rollout_ref.model.path': model.path,
		'actor_rollout_ref.model.enable_gradient_checkpointing': recipe.pytorch?.gradientCheckpointing ?? false,
		...lora(recipe),
		'actor_rollout_ref.actor.strategy': 'fsdp',
		'actor_rollout_ref.actor.ppo_mini_batch_size': prompts / parts,
		'actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu': micro,
		'actor_rollout_ref.actor.ppo_epochs': passes,
		'actor_rollout_ref.actor.data_loader_seed': recipe.seed,
		...optimizer(stage),
		'actor_rollout_ref.rollout.name': 'vllm',
		'actor_rollout_ref.rollout.n': n,
		'actor_rollout_ref.rollout.temperature': stage.temperature,
		'actor_rollout_ref.rollout.tensor_model_parallel_size': recipe.pytorch?.vllm?.tensorParallel ?? 1,
		'actor_rollout_ref.rollout.gpu_memory_utilization': recipe.pytorch?.vllm?.memory ?? 0.5,
		'actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu': micro,
		'actor_rollout_ref.rollout.val_kwargs.n': evaluate.samples,
		'actor_rollout_ref.rollout.val_kwargs.temperature': evaluate.temperature,
		'actor_rollout_ref.rollout.val_kwargs.do_sample': evaluate.temperature > 0,
		'actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu': micro,
		'custom_reward_function.path': place('verl_rewards.py'),
		'custom_reward_function.name': 'compute_score',
		'trainer.nnodes': 1,
		'trainer.n_gpus_per_node': gpus,
		'trainer.total_training_steps': batches(stage.steps),
		'trainer.total_epochs': 1_000_000,
		'trainer.test_freq': batches(evaluate.every),
		'trainer.save_freq': batches(checkpoint.every),
		'trainer.max_actor_ckpt_to_keep': checkpoint.keep,
		'trainer.val_before_train': true,
		'trainer.resume_mode': 'auto',
		'trainer.logger': ['console', 'file'],
		'trainer.project_name': 'reasoning-lab',
		'trainer.experiment_name': facts.id,
		'trainer.rollout_data_dir': place('rollouts'),
		'trainer.validation_data_dir': place('validation'),
		'trainer.default_local_dir': place('checkpoints'),
	};
}

type Stage = ResolvedGrpoStage | ResolvedRlooStage;

function stageOf({ stages }: ResolvedRecipe): Stage {
	const [stage] = stages;
	if (stages.length !== 1 || stage === undefined || (stage.type !== 'grpo' && stage.type !== 'rloo')) {
		throw refuse(
			'combination of several stages, or stages other than grpo and rloo,',
			'Use a single grpo or rloo stage.',
		);
	}
	if (stage.until !== null) throw refuse('held-out accuracy condition that ends a stage', 'Remove "until".');
	if (stage.mask_truncated_completions) {
		throw refuse('mask_truncated_completions', 'Remove it, or train with the payload "trl".');
	}
	return stage;
}

function algorithm(stage: Stage): VerlSettings {
	const clip = {
		'actor_rollout_ref.actor.clip_ratio': stage.epsilon,
		'actor_rollout_ref.actor.clip_ratio_low': stage.epsilon,
		'actor_rollout_ref.actor.clip_ratio_high': stage.epsilon_high,
		'actor_rollout_ref.actor.entropy_coeff': 0,
	};
	if (stage.type === 'rloo') {
		return {
			'algorithm.adv_estimator': 'rloo',
			// RLOO includes KL in the reward.
			'algorithm.use_kl_in_reward': stage.beta > 0,
			'algorithm.kl_ctrl.kl_coef': stage.beta,
			'actor_rollout_ref.actor.use_kl_loss': false,
			'actor_rollout_ref.actor.loss_agg_mode': 'token-mean',
			...clip,
		};
	}
	const mode = lossModes[stage.loss_type];
	if (mode === undefined) {
		throw refuse(`loss_type "${stage.loss_type}"`, `Use one of ${Object.keys(lossModes).join(', ')}.`);
	}
	if (stage.scale_rewards === 'batch') throw refuse('scale_rewards "batch"', 'Use "group" or "none".');
	if (stage.dynamic_sampling) throw refuse('dynamic_sampling option', 'Remove it.');
	if (stage.control !== null) throw refuse('control experiment', 'Remove it.');
	const other = ownLossKeys.find((name) => (stage[name] ?? false) !== false);
	if (other !== undefined) throw refuse(other, 'Remove it, or train with the payload "trl".');
	return {
		'algorithm.adv_estimator': 'grpo',
		'algorithm.norm_adv_by_std_in_grpo': stage.scale_rewards === 'group',
		'algorithm.use_kl_in_reward': false,
		'actor_rollout_ref.actor.use_kl_loss': stage.beta > 0,
		'actor_rollout_ref.actor.kl_loss_coef': stage.beta,
		// k3 (Schulman 2020), as in TRL.
		'actor_rollout_ref.actor.kl_loss_type': 'low_var_kl',
		'actor_rollout_ref.actor.loss_agg_mode': mode,
		...clip,
	};
}

function optimizer(stage: Stage): VerlSettings {
	const { lr_scheduler_type: shape } = stage;
	if (shape === 'linear') throw refuse('linear schedule', 'Use "constant", "constant_with_warmup" or "cosine".');
	const optim = 'actor_rollout_ref.actor.optim';
	return {
		[`${optim}.lr`]: stage.learning_rate,
		[`${optim}.lr_warmup_steps`]: shape === 'constant' ? 0 : stage.warmup_steps,
		[`${optim}.lr_scheduler_type`]: shape === 'cosine' ? 'cosine' : 'constant',
		[`${optim}.weight_decay`]: stage.weight_decay,
		[`${optim}.betas`]: [stage.adam_beta1, stage.adam_beta2],
		// Disable clipping with a bound that no norm reaches.
		'actor_rollout_ref.actor.grad_clip': stage.max_grad_norm === 0 ? 1e9 : stage.max_grad_norm,
		...(stage.adam_epsilon === 1e-8 ? {} : { [`+${optim}.override_optimizer_config`]: { eps: stage.adam_epsilon } }),
	};
}

function lora({ pytorch }: ResolvedRecipe): VerlSettings {
	const settings = pytorch?.lora ?? null;
	if (settings === null) return {};
	if (settings.quantize !== 'none') throw refuse('quantized weights (QLoRA)', 'Remove "quantize".');
	if (settings.dropout > 0) throw refuse('adapter dropout', 'Remove it.');
	return {
		'actor_rollout_ref.model.lora_rank': settings.r,
		'actor_rollout_ref.model.lora_alpha': settings.alpha,
		'actor_rollout_ref.model.target_modules': settings.targets,
	};
}

/** Formats a value for Hydra's override grammar. */
export function hydraValue(value: VerlValue): string {
	if (value === null) return 'null';
	if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
	if (typeof value !== 'object') return String(value);
	if (Array.isArray(value)) return `[${value.map(hydraValue).join(',')}]`;
	const entries = Object.entries(value as Readonly<Record<string, VerlValue>>);
	return `{${entries.map(([key, entry]) => `${key}:${hydraValue(entry)}`).join(',')}}`;
}

/**
 * Returns the arguments for `python -m verl.trainer.main_ppo`. The installed verl rejects settings it does not know.
 * Settings from the recipe (`ray.verl`) are added, and override existing ones with the same name.
 */
export function verlArguments(settings: VerlSettings, own: Readonly<Record<string, unknown>>): string[] {
	const replaced = new Set(Object.keys(own));
	return [
		...Object.entries(settings)
			.filter(([name]) => !replaced.has(name.replace(/^\+/, '')))
			.map(([name, value]) => `${name}=${hydraValue(value)}`),
		...Object.entries(own).map(([name, value]) => `++${name}=${hydraValue(value as VerlValue)}`),
	];
}
