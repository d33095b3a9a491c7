/** What other trainers' configurations call a key of a recipe (TRL, verl, OpenRLHF, Hugging Face's Trainer): for suggestions alone. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
	max_completion_length: ['max_new_tokens', 'max_tokens', 'max_response_length', 'response_length', 'generate_max_len'],
	learning_rate: ['lr', 'actor_learning_rate'],
	num_generations: ['n', 'rollout_n', 'num_samples', 'n_samples_per_prompt', 'samples_per_prompt', 'group_size'],
	prompts_per_step: ['rollout_batch_size', 'train_prompt_bsz'],
	batch_size: ['per_device_train_batch_size', 'train_batch_size', 'micro_batch_size'],
	beta: ['kl_coef', 'kl_coeff', 'kl_loss_coef', 'init_kl_coef', 'kl_beta'],
	epsilon: ['clip_ratio', 'cliprange', 'clip_range', 'clip_eps', 'eps_clip'],
	epsilon_high: ['clip_ratio_high', 'eps_clip_high'],
	num_iterations: ['ppo_epochs', 'num_ppo_epochs', 'mu'],
	steps: ['max_steps', 'num_steps', 'total_steps', 'total_training_steps', 'num_train_steps'],
	max_grad_norm: ['grad_clip', 'clip_grad', 'gradient_clipping', 'max_norm'],
	lr_scheduler_type: ['lr_scheduler', 'scheduler', 'lr_schedule'],
	warmup_steps: ['warmup', 'num_warmup_steps', 'lr_warmup_steps'],
	dataset: ['data', 'train_file', 'train_files', 'dataset_name', 'dataset_path', 'prompt_data'],
	model: ['model_name_or_path', 'model_name', 'base_model', 'pretrain', 'model_path'],
	rewards: ['reward', 'reward_funcs', 'reward_functions', 'reward_function'],
	checkpoint: ['save_steps', 'save_freq', 'checkpoints'],
	evaluate: ['eval', 'evaluation', 'eval_steps', 'test_freq'],
	seed: ['random_seed'],
	engine: ['backend', 'framework'],
	gradientCheckpointing: ['gradient_checkpointing', 'enable_gradient_checkpointing'],
};

/** The known key that other trainers call so; null: none. */
export function knownByOtherName(name: string, known: readonly string[]): string | null {
	const plain = name.toLowerCase().replaceAll('-', '_');
	return known.find((key) => Object.hasOwn(otherNames, key) && otherNames[key]?.includes(plain)) ?? null;
}
