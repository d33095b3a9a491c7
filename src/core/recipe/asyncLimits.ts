/*
 * What TRL's AsyncGRPOTrainer, which samples while it trains, cannot do in the PyTorch engine. The trainer's
 * `async_limits.json` is generated from this (test/scripts/writeTrainerTables.ts).
 */

/** Stage keys that it lacks, with the value that has no effect; null: the key must be missing. */
export const asyncKeys: Readonly<Record<string, string | number | boolean | null>> = {
	beta: 0,
	loss_type: 'dapo',
	num_iterations: 1,
	importance_sampling_level: 'token',
	multi_objective_aggregation: 'sum_then_normalize',
	credit_assignment: 'episode',
	delta: null,
	off_policy_mask_threshold: null,
	top_entropy_quantile: 1,
	entropy_coef: 0,
	use_adaptive_entropy: false,
};

/** TRL options for its vLLM server, which the engine does not use, or that the engine sets. */
export const asyncOptions: readonly string[] = [
	...['top_k', 'min_p', 'repetition_penalty', 'chat_template_kwargs', 'max_tool_calling_iterations'],
	...['fork_threshold_tokens', 'vllm_server_timeout', 'request_timeout', 'max_inflight_tasks', 'queue_maxsize'],
	...['weight_sync_steps', 'weight_sync_timeout', 'heartbeat_stale_after_s', 'token_budget', 'dtype'],
	'use_liger_kernel',
];
