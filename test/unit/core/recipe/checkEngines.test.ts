import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { faultOfChange } from '../../../../src/core/recipe/checkEngine.ts';
import { stageSchemaOf } from '../../../../src/core/recipe/filledStage.ts';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';

const sizes = { layers: 1, width: 16, heads: 2 };
const grpo = { type: 'grpo', steps: 4, learning_rate: 1e-4 };
const sft = { type: 'sft', steps: 4, learning_rate: 1e-4 };
const pairs = { path: 'pairs.jsonl' };
const tags = { prompt: '{prompt}', think: null, answer: null };

const base = { name: 'a', dataset: { task: 'addition' }, model: sizes, rewards: [{ use: 'accuracy' }], stages: [grpo] };
const hub = { model: { path: 'Qwen/Qwen2.5-0.5B' } };

/** Returns the recipe's errors as `path: message` after applying the changes. */
function faults(changes: object): string[] {
	const parsed = parseRecipe(JSON.stringify({ ...base, ...changes }, null, '\t'));
	return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
}

type Case = readonly [changes: object, fault: RegExp];

/** Expects one error per case, at the relevant key and phrased as a sentence. */
function each(engine: string, cases: readonly Case[]): void {
	for (const [changes, fault] of cases) {
		it(`${engine}: ${fault.source}`, () => {
			const found = faults({ engine, ...changes });
			assert.equal(found.length, 1, JSON.stringify(found));
			assert.match(found[0] as string, fault);
			assert.match(found[0] as string, /\.$/);
		});
	}
}

/** Keys of a stage that contradict each other, in every engine. */
const contradictions: [object, RegExp][] = [
	[
		{ use_adaptive_entropy: true, entropy_coef: 5 },
		/^stages\[0\]\.entropy_coef: .* at most "entropy_coef_max", which is 1 by default/,
	],
	[{ kl_cov_coef: 1 }, /^stages\[0\]\.kl_cov_coef: Only used with "kl_cov_ratio"/],
	[{ entropy_target: 1 }, /^stages\[0\]\.entropy_target: Only used with "use_adaptive_entropy": true/],
	[{ pass_k: 2 }, /^stages\[0\]\.pass_k: Only used with "advantage_estimator": "pass_at_k"/],
	[{ advantage_estimator: 'pass_at_k', pass_k: 99 }, /^stages\[0\]\.pass_k: .* at most "num_generations"/],
	[
		{ advantage_estimator: 'maxrl', multi_objective_aggregation: 'normalize_then_sum' },
		/^stages\[0\]\.multi_objective_aggregation: .* requires "advantage_estimator": "grpo"/,
	],
	[{ advantage_estimator: 'maxrl', scale_rewards: 'batch' }, /^stages\[0\]\.scale_rewards: .* has no effect/],
];

/** Settings that conflict with `max_staleness` in the PyTorch engine, in the stage and in the rest of the recipe. */
const asyncConflicts: [stage: object, recipe: object, words: string][] = [
	[{ beta: 0.1 }, {}, '"beta": 0\\.1'],
	[{ loss_type: 'grpo' }, {}, '"loss_type": "grpo"'],
	[{ num_iterations: 2 }, {}, '"num_iterations": 2'],
	[{ delta: 2 }, {}, '"delta": 2'],
	[{ use_adaptive_entropy: true }, {}, '"use_adaptive_entropy": true'],
	[{ trainer: { top_k: 3 } }, {}, '"top_k" of "trainer"'],
	[{}, { pytorch: { lora: {} } }, '"lora"'],
	[{}, { pytorch: { vllm: {} } }, '"vllm"'],
	[{}, { pytorch: { processes: 2 } }, 'more than one process'],
	[
		{},
		{
			environment: { file: 'a.env.py' },
			rewards: [{ use: 'environment' }],
			template: { ...tags, chat: true },
		},
		'an environment',
	],
];

describe('environments in the embedded engine', () => {
	const environment = { file: 'guess.env.py' };
	const rewards = [{ use: 'environment' }];
	it('need no settings: demonstrations and tags have defaults', () => {
		assert.deepEqual(faults({ environment, rewards, stages: [sft, grpo] }), []);
		const demonstrations = { gold: 0.2, maxTurns: 4 };
		assert.deepEqual(faults({ environment, rewards, stages: [{ ...sft, demonstrations }, grpo] }), []);
	});
	each('embedded', [
		[
			{ environment, rewards, stages: [{ ...grpo, type: 'ppo' }] },
			/^stages\[0\]\.type: .*"ppo" stages cannot train on environments\. Use "sft" or "grpo"/,
		],
		[{ environment, rewards, stages: [{ ...sft, data: { path: 'a.jsonl' } }] }, /^stages\[0\]\.data: .* on episodes/],
		[{ stages: [{ ...sft, demonstrations: {} }] }, /^stages\[0\]\.demonstrations: .* require an "environment"/],
		[
			{ environment, rewards, template: { ...tags, think: ['<call>', '</call>'] } },
			/^template: The template has an empty or duplicate tag/,
		],
		[
			{ environment, rewards: [{ use: 'self-certainty' }] },
			/^rewards\[0\]: The reward "self-certainty" is not available for episodes/,
		],
		[{ environment, rewards: [{ use: 'self-judge' }] }, /^rewards\[0\]: The reward "self-judge" is not available/],
		[{ rewards }, /^rewards\[0\]: The reward "environment" requires an "environment"/],
		[{ environment: {}, rewards }, /^environment: The environment has no source\. Set "file", "package", or "server"/],
		[{ environment: { ...environment, package: 'a' }, rewards }, /^environment\.package: .* both "file" and "package"/],
		[{ environment: { file: 'guess.py' }, rewards }, /^environment\.file: "guess\.py" is not an environment file/],
		[{ environment: { server: 'host:80' }, rewards }, /^environment\.server: "host:80" is not a server address/],
		[
			{ environment: { ...environment, arguments: {} }, rewards },
			/^environment\.arguments: Environment files do not take arguments/,
		],
	]);
	const turn = (more: object = {}) => ({ stages: [{ ...grpo, credit_assignment: 'turn', ...more }] });
	const alone = /^stages\[0\]\.credit_assignment: Only episodes have turns, so .* needs an "environment"\. Remove it/;
	each('embedded', [[turn(), alone]]);
	each('pytorch', [[{ ...hub, ...turn() }, alone]]);
	/** Settings that need one advantage for all turns, keyed by the name in the message. */
	const shared: Readonly<Record<string, object>> = {
		maxrl: { advantage_estimator: 'maxrl' },
		pass_at_k: { advantage_estimator: 'pass_at_k' },
		normalize_then_sum: { multi_objective_aggregation: 'normalize_then_sum' },
		gmpo: { loss_type: 'gmpo' },
		vespo: { loss_type: 'vespo' },
		off_policy_mask_threshold: { off_policy_mask_threshold: 1 },
		clip_cov_ratio: { clip_cov_ratio: 0.1 },
		kl_cov_ratio: { kl_cov_ratio: 0.1 },
		use_liger_kernel: { trainer: { use_liger_kernel: true } },
	};
	const engines = { embedded: {}, pytorch: { ...hub, engine: 'pytorch', template: { ...tags, chat: true } } };
	for (const [engine, own] of Object.entries(engines)) {
		const credited = (more: object) =>
			faults({ environment, rewards, ...own, ...turn(more) }).filter((fault) => fault.includes('].credit_assignment:'));
		it(`${engine}: turns cannot have their own advantages with settings that need one per completion`, () => {
			for (const [name, more] of Object.entries(shared)) {
				const [found = '', ...others] = credited(more);
				assert.match(found, /^stages\[0\]\.credit_assignment: Turns cannot have [^.]*\. Remove one of them\.$/, name);
				assert.ok(found.includes(`"${name}"`), found);
				assert.deepEqual(others, []);
				assert.deepEqual(credited({ ...more, credit_assignment: 'episode' }), []);
			}
		});
		it(`${engine}: turns can have their own advantages with other losses and with token selection`, () => {
			for (const more of [{}, { loss_type: 'sapo' }, { scale_rewards: 'batch' }, { top_entropy_quantile: 0.2 }]) {
				assert.deepEqual(faults({ environment, rewards, ...own, ...turn(more) }), []);
			}
		});
	}
	each('pytorch', [
		[
			{ ...hub, template: { ...tags, call: ['<a>', '</a>'] } },
			/^template\.call: "call" applies to the embedded engine/,
		],
	]);
});

describe('features missing from the embedded engine', () => {
	const stage = (more: object) => ({ stages: [{ ...grpo, ...more }] });
	each('embedded', [
		[{ device: 'cpu', precision: 'bfloat16' }, /^precision: .* "bfloat16" only on these devices: "auto", "cuda"\. /],
		[{ device: 'webgpu', precision: 'bfloat16' }, /^precision: .* or set "precision" to "float32"/],
		[{ device: 'coreml', precision: 'float16' }, /^precision: .* "auto", "cuda", "webgpu"\. Change "device"/],
		[
			stage({ type: 'rloo', prompts_per_step: 6, steps_per_generation: 4 }),
			/^stages\[0\]\.steps_per_generation: .* does not divide the 6 groups/,
		],
		[stage({ type: 'ppo', num_mini_batches: 3 }), /^stages\[0\]\.num_mini_batches: .* the 128 completions/],
		[
			stage({ type: 'ppo', critic_warmup_steps: 4 }),
			/^stages\[0\]\.critic_warmup_steps: .* leaves none of the 4 steps/,
		],
		[stage({ type: 'dpo', pairs: { path: 'pairs.csv' } }), /^stages\[0\]\.pairs\.path: .* reads JSONL, but .* is csv/],
		[stage({ type: 'dpo', pairs: { ...pairs, split: 'test' } }), /^stages\[0\]\.pairs\.split/],
		[stage({ type: 'reward-model', pairs: { path: 'pairs.parquet' } }), /^stages\[0\]\.pairs\.path/],
		[
			stage({ type: 'distill', data: { path: 'teacher.csv' } }),
			/^stages\[0\]\.data\.path: The embedded engine reads JSONL, but "teacher.csv" is csv/,
		],
		[stage({ type: 'sft', data: { ...pairs, split: 'train' } }), /^stages\[0\]\.data\.split/],
		[stage({ type: 'dpo', pairs, loss_type: 'ipo' }), /^stages\[0\]\.loss_type: .* only supports the DPO loss/],
		[stage({ type: 'distill', method: 'sdft' }), /^stages\[0\]\.method: The embedded engine does not support "method"/],
		[stage({ type: 'distill', teacher: { path: 't' }, beta: 1 }), /^stages\[0\]\.beta: .* minimizes the forward KL/],
		[stage({ type: 'distill' }), /^stages\[0\]\.type: "distill" has no teacher\. Add "data"/],
		[stage({ type: 'distill', data: pairs, alpha: 0.5 }), /^stages\[0\]\.alpha: .* the logits of a "teacher"/],
		[
			stage({ type: 'distill', data: pairs, teacher: { path: 't' }, on_policy: true }),
			/^stages\[0\]\.on_policy: .* but "data" specifies a file/,
		],
		[stage({ type: 'distill', teacher: { path: 't' }, minReward: 1 }), /^stages\[0\]\.minReward/],
		[
			stage({ type: 'pretrain' }),
			/^stages\[0\]\.type: The task "addition" has no plain text to pretrain on: add "corpus"/,
		],
		[stage({ loss_type: 'cispo' }), /^stages\[0\]\.loss_type: .*"epsilon_high" is the maximum ratio itself/],
		[stage({ loss_type: 'luspo' }), /^stages\[0\]\.loss_type: .*"importance_sampling_level": "sequence"/],
		[
			stage({ loss_type: 'dppo_kl', importance_sampling_level: 'sequence' }),
			/^stages\[0\]\.importance_sampling_level: .* ratios per token/,
		],
		[stage({ loss_type: 'sapo', kl_cov_ratio: 0.1 }), /^stages\[0\]\.kl_cov_ratio: Replaces clipping/],
		[
			stage({ loss_type: 'cispo', epsilon_high: 5, clip_cov_ratio: 0.1 }),
			/^stages\[0\]\.clip_cov_ratio: Selects among/,
		],
		[stage({ clip_cov_lb: 2 }), /^stages\[0\]\.clip_cov_lb: Only used with "clip_cov_ratio"/],
		[
			stage({ clip_cov_ratio: 0.1, clip_cov_lb: 2, clip_cov_ub: 1.5 }),
			/^stages\[0\]\.clip_cov_lb: .* must be less than "clip_cov_ub"/,
		],
		[stage({ clip_cov_ratio: 0.1, clip_cov_lb: 5 }), /^stages\[0\]\.clip_cov_lb: .* which is 5 by default/],
		[stage({ clip_cov_ratio: 0.1, clip_cov_ub: 1 }), /^stages\[0\]\.clip_cov_ub: .* which is 1 by default/],
		[
			stage({ use_adaptive_entropy: true, entropy_coef_min: 0.5, entropy_coef_max: 0.1 }),
			/^stages\[0\]\.entropy_coef_min: .* at most "entropy_coef_max"/,
		],
		[stage({ delta: 0.9 }), /^stages\[0\]\.delta: .* at least 1/],
		[
			stage({ loss_type: 'gmpo', top_entropy_quantile: 0.2 }),
			/^stages\[0\]\.top_entropy_quantile: "gmpo" has one loss per completion/,
		],
		[stage({ sapo_temperature_neg: 2 }), /^stages\[0\]\.sapo_temperature_neg: Only used with "loss_type" "sapo"/],
		[
			stage({ loss_type: 'gmpo', importance_sampling_level: 'sequence' }),
			/^stages\[0\]\.importance_sampling_level: .* use their own ratios per completion/,
		],
		...contradictions.map(([more, fault]): [object, RegExp] => [stage(more), fault]),
		[
			stage({ curriculum: { sampling: 'range', target: 0.3 } }),
			/^stages\[0\]\.curriculum\.target: Only used with "sampling": "target"/,
		],
		[
			stage({ curriculum: { min_pass_rate: 0.9, max_pass_rate: 0.9 } }),
			/^stages\[0\]\.curriculum\.max_pass_rate: .*greater than "min_pass_rate"/,
		],
		[
			stage({ curriculum: { min_pass_rate: 0.9 } }),
			/^stages\[0\]\.curriculum\.min_pass_rate: .*less than "max_pass_rate"/,
		],
		[
			stage({ max_staleness: 3, steps_per_generation: 2, num_iterations: 2 }),
			/^stages\[0\]\.max_staleness: .* at least the number of updates per batch/,
		],
		[
			stage({ vllm_importance_sampling_clip_max: 2 }),
			/^stages\[0\]\.vllm_importance_sampling_clip_max: Only used with "vllm_importance_sampling_correction"/,
		],
		[
			stage({ max_staleness: 1, vllm_importance_sampling_clip_min: 3 }),
			/^stages\[0\]\.vllm_importance_sampling_clip_min: .* less than "vllm_importance_sampling_clip_max"/,
		],
		[
			stage({ max_staleness: 1, loss_type: 'vespo', vllm_importance_sampling_mode: 'sequence_mask' }),
			/^stages\[0\]\.vllm_importance_sampling_mode: .* "vespo" uses ratios per token/,
		],
		[stage({ world_model_coeff: 0.05 }), /^stages\[0\]\.world_model_coeff: .* requires an "environment"/],
		[stage({ trainer: { logging_steps: 1 } }), /^stages\[0\]\.trainer: "trainer" contains TRL options/],
		[stage({ max_completion_length: 9000 }), /^stages\[0\]\.max_completion_length: .* at most 8192/],
		[{ pytorch: {} }, /^pytorch: "pytorch" requires the engine "pytorch"/],
		[{ ray: {} }, /^ray: "ray" requires the engine "ray"/],
		[{ template: { ...tags, chat: true } }, /^template\.chat: "chat" needs a chat template/],
		[{ model: { path: 'm', template: 'chat.jinja' } }, /^model\.template: .* set "engine": "pytorch"/],
		[{ model: { path: 'm', revision: 'main' } }, /^model\.revision/],
		[{ dataset: { path: 'a.jsonl', heldOut: 'test.csv.gz' } }, /^dataset\.heldOut: .* is compressed/],
		[{ dataset: { path: 'a.jsonl', split: 'train' } }, /^dataset\.split/],
		[{ dataset: { preset: 'gsm8k' } }, /^dataset\.preset: .* Set "path" to a file with gsm8k/],
		[{ dataset: { prompt: 'q' } }, /^dataset: "dataset" specifies no data\. Add "task", "path", or "preset"/],
	]);

	it('accepts supported features', () => {
		assert.deepEqual(
			faults({ dataset: { path: 'gsm.jsonl', preset: 'gsm8k' }, template: { ...tags, chat: false } }),
			[],
		);
	});
});

describe('features missing from the pytorch engine', () => {
	const stage = (more: object) => ({ stages: [{ ...grpo, ...more }] });
	const pytorch = (settings: object, more: object = hub) => ({ ...more, pytorch: settings });
	each('pytorch', [
		[
			{ stages: [{ ...sft, type: 'ppo' }] },
			/^stages\[0\]\.type: TRL 1\.13 has no PPO trainer: set "engine": "embedded"/,
		],
		[{ stages: [{ ...sft, type: 'value-model' }] }, /^stages\[0\]\.type: TRL does not train value models/],
		[
			{ stages: [{ ...sft, type: 'process-reward-model' }] },
			/^stages\[0\]\.type: .* Add "labels", or set "engine": "embedded"/,
		],
		[{ device: 'webgpu' }, /^device: PyTorch does not support the device "webgpu"/],
		[{ workers: 2 }, /^workers: "workers" sets the thread count of the embedded engine/],
		[stage({ dynamic_sampling: true }), /^stages\[0\]\.dynamic_sampling: TRL does not support/],
		[stage({ max_resamples: 2 }), /^stages\[0\]\.max_resamples/],
		[
			stage({ loss_type: 'dppo_tv', importance_sampling_level: 'sequence' }),
			/^stages\[0\]\.importance_sampling_level: .* "dppo_tv" and "dppo_kl" use ratios per token/,
		],
		[
			stage({ loss_type: 'cispo', epsilon_high: 0.28 }),
			/^stages\[0\]\.loss_type: .*"epsilon_high" is the maximum ratio itself/,
		],
		[stage({ loss_type: 'gmpo', use_adaptive_entropy: true }), /^stages\[0\]\.use_adaptive_entropy: TRL ignores the/],
		[stage({ loss_type: 'gmpo', entropy_coef: 0.1 }), /^stages\[0\]\.entropy_coef: TRL ignores the entropy bonus/],
		[
			stage({ loss_type: 'gmpo', off_policy_mask_threshold: 0.1 }),
			/^stages\[0\]\.off_policy_mask_threshold: TRL ignores "off_policy_mask_threshold" with "gmpo"/,
		],
		[
			stage({ loss_type: 'gmpo', use_bias_correction_kl: true }),
			/^stages\[0\]\.use_bias_correction_kl: TRL ignores "use_bias_correction_kl" with "gmpo"/,
		],
		[
			stage({ loss_type: 'gmpo', importance_sampling_level: 'sequence' }),
			/^stages\[0\]\.importance_sampling_level: .* use their own ratios per completion/,
		],
		[
			stage({ loss_type: 'vespo', importance_sampling_level: 'sequence' }),
			/^stages\[0\]\.importance_sampling_level: "vespo" and "gmpo" use their own ratios/,
		],
		[
			stage({ loss_type: 'grpo', importance_sampling_level: 'sequence_token', entropy_coef: 0.1 }),
			/^stages\[0\]\.entropy_coef: TRL ignores the entropy bonus with "gmpo" and "sequence_token"/,
		],
		[
			stage({ importance_sampling_level: 'sequence_token', trainer: { use_liger_kernel: true } }),
			/^stages\[0\]\.importance_sampling_level: .* without "use_liger_kernel"/,
		],
		[
			stage({ entropy_coef: 0.1, trainer: { use_liger_kernel: true } }),
			/^stages\[0\]\.entropy_coef: The Liger kernels have no entropy bonus/,
		],
		[
			stage({ loss_type: 'dppo_tv', trainer: { use_liger_kernel: true } }),
			/^stages\[0\]\.loss_type: The Liger kernels do not compute "dppo_tv"/,
		],
		[
			pytorch({ vllm: {} }, { ...hub, ...stage({ loss_type: 'gmpo', vllm_importance_sampling_correction: true }) }),
			/^stages\[0\]\.vllm_importance_sampling_correction: TRL does not correct "gmpo"/,
		],
		[
			pytorch({ vllm: {} }, { ...hub, ...stage({ loss_type: 'gmpo', vllm_importance_sampling_clip_max: 2 }) }),
			/^stages\[0\]\.vllm_importance_sampling_clip_max: TRL does not correct "gmpo"/,
		],
		[
			pytorch(
				{ vllm: {} },
				{ ...hub, ...stage({ loss_type: 'vespo', vllm_importance_sampling_mode: 'sequence_mask' }) },
			),
			/^stages\[0\]\.vllm_importance_sampling_mode: "vespo" uses ratios per token/,
		],
		[
			stage({ max_staleness: 1, steps_per_generation: 2 }),
			/^stages\[0\]\.max_staleness: .* at least the number of updates per batch/,
		],
		...asyncConflicts.map(([inStage, more, words]): [object, RegExp] => [
			{ ...hub, ...stage({ max_staleness: 4, ...inStage }), ...more },
			new RegExp(`^stages\\[0\\]\\.max_staleness: .* cannot be combined with ${words}\\. Remove one of them`),
		]),
		[
			stage({ vllm_importance_sampling_mode: 'token_mask' }),
			/^stages\[0\]\.vllm_importance_sampling_mode: .* which this recipe does not use/,
		],
		[
			stage({ world_model_coeff: 0.05 }),
			/^stages\[0\]\.world_model_coeff: TRL does not train on tokens written by env/,
		],
		[stage({ kl_cov_ratio: 0.001 }), /^stages\[0\]\.kl_cov_ratio: TRL does not support KL-Cov/],
		[stage({ clip_cov_ratio: 0.001 }), /^stages\[0\]\.clip_cov_ratio: TRL does not support Clip-Cov/],
		[stage({ skip_dead_groups: true }), /^stages\[0\]\.skip_dead_groups: TRL always processes zero-advantage groups/],
		[stage({ control: 'shuffle' }), /^stages\[0\]\.control: TRL cannot shuffle advantages/],
		[
			{ ...hub, stages: [{ ...sft, type: 'dpo', pairs, control: 'shuffle' }] },
			/^stages\[0\]\.control: The PyTorch engine cannot shuffle pairs/,
		],
		[
			{ ...hub, stages: [{ ...sft, type: 'dpo', pairs, loss_type: 'exo_pair' }] },
			/^stages\[0\]\.loss_type: "exo_pair" requires label smoothing\. Add "trainer"/,
		],
		[
			{ ...hub, stages: [{ ...sft, type: 'dpo', pairs, loss_type: 'robust' }] },
			/^stages\[0\]\.loss_type: "robust" requires the fraction of flipped labels/,
		],
		[
			stage({ loss_type: 'gmpo', trainer: { entropy_coef: 0.1 } }),
			/^stages\[0\]\.trainer\.entropy_coef: TRL ignores the entropy bonus with "gmpo"/,
		],
		[stage({ loss_type: 'sapo', trainer: { delta: 2 } }), /^stages\[0\]\.trainer\.delta: Only used with "loss_type"/],
		[
			stage({ loss_type: 'dppo_tv', trainer: { importance_sampling_level: 'sequence_token' } }),
			/^stages\[0\]\.trainer\.importance_sampling_level: TRL supports "sequence_token" only/,
		],
		[stage({ loss_type: 'luspo' }), /^stages\[0\]\.loss_type: .*"importance_sampling_level": "sequence"/],
		...contradictions.map(([more, fault]): [object, RegExp] => [stage(more), fault]),
		[
			{ ...hub, rewards: [{ use: 'self-certainty' }] },
			/^rewards\[0\]: The reward "self-certainty" requires the embedded engine/,
		],
		[
			{ ...hub, rewards: [{ use: 'self-judge' }] },
			/^rewards\[0\]: The reward "self-judge" requires the embedded engine/,
		],
		[stage({ curriculum: {} }), /^stages\[0\]\.curriculum: TRL reads prompts in dataset order/],
		[
			stage({ loss_type: 'sapo', importance_sampling_level: 'sequence_token' }),
			/^stages\[0\]\.importance_sampling_level: TRL supports "sequence_token" only with "loss_type" grpo, bnpo, dr_grpo, dapo/,
		],
		[
			stage({ delta: 3, trainer: { delta: 4 } }),
			/^stages\[0\]\.trainer\.delta: "delta" is a stage key\. Move it out of "trainer"/,
		],
		[stage({ trainer: { beta: 0.1 } }), /^stages\[0\]\.trainer\.beta: "beta" is a stage key/],
		[stage({ trainer: { bf16: true } }), /^stages\[0\]\.trainer\.bf16: .*use "precision" in the recipe/],
		[stage({ trainer: { output_dir: '/tmp' } }), /^stages\[0\]\.trainer\.output_dir: .* run directories/],
		[{ template: { ...tags, chat: true } }, /^template\.chat: .* which a new model does not have/],
		[{ ...hub, template: { ...tags, system: 'x' } }, /^template\.system: .* Add "chat": true/],
		[{ dataset: { path: 'train.parquet' } }, /^model: A new model builds its vocabulary from a task or a JSONL file/],
		[{ dataset: { preset: 'gsm8k' } }, /^model: A new model/],
		[{ ray: {} }, /^ray: "ray" applies to the ray engine\. Set "engine": "ray"/],
		[pytorch({ strategy: 'fsdp' }), /^pytorch\.strategy: .* Raise "processes"/],
		[pytorch({ precision: 'float16' }, { ...hub, device: 'cpu' }), /^pytorch\.precision: "float16" requires a GPU/],
		[{ ...hub, device: 'cpu', precision: 'float16' }, /^precision: "float16" requires a GPU/],
		[
			pytorch({ precision: 'float16' }, { ...hub, precision: 'bfloat16' }),
			/^pytorch\.precision: "precision" is also set to "bfloat16" outside "pytorch"\. Remove one/,
		],
		[
			pytorch({ attention: 'flash_attention_2' }, { ...hub, precision: 'float32' }),
			/^pytorch\.attention: .* bfloat16 and float16/,
		],
		[pytorch({ attention: 'flash_attention_2' }, { ...hub, device: 'cpu' }), /^pytorch\.attention: .* Use sdpa/],
		[pytorch({ attention: 'flash_attention_2', precision: 'float32' }), /^pytorch\.attention: .* bfloat16 and float16/],
		[pytorch({ lora: { quantize: '4bit' } }, { ...hub, device: 'cpu' }), /^pytorch\.lora\.quantize: .* requires a GPU/],
		[pytorch({ lora: { quantize: '4bit' } }, {}), /^pytorch\.lora\.quantize: .* this model is new/],
		[pytorch({ rewards: 'in-process' }), /^pytorch\.rewards: .* Python reward files/],
		[pytorch({ packing: true }), /^pytorch\.packing: .* sft and distill/],
		[pytorch({ vllm: {} }, {}), /^pytorch\.vllm: .* does not support the architecture/],
		[pytorch({ vllm: {} }, { ...hub, device: 'cpu' }), /^pytorch\.vllm: "vllm" requires a GPU/],
		[pytorch({ vllm: {} }, { ...hub, stages: [sft] }), /^pytorch\.vllm: .* grpo and rloo stages/],
		[pytorch({ vllm: { mode: 'server' } }), /^pytorch\.vllm\.mode: "server" mode requires an address/],
		[pytorch({ vllm: { mode: 'server', server: 'gpu1' } }), /^pytorch\.vllm\.server: .* not "gpu1"/],
		[pytorch({ vllm: { server: 'http://gpu1:8000' } }), /^pytorch\.vllm\.server: "server" applies to "mode": "server"/],
		[pytorch({ vllm: { mode: 'server', server: 'http://gpu1:8000', memory: 0.5 } }), /^pytorch\.vllm\.memory/],
		[
			pytorch({ processes: 4, vllm: { tensorParallel: 3 } }),
			/^pytorch\.vllm\.tensorParallel: .* does not divide the 4/,
		],
	]);

	it('accepts supported features', () => {
		const good = [
			hub,
			{ ...hub, dataset: { preset: 'gsm8k' } },
			{ device: 'cuda' },
			stage({ type: 'rloo' }),
			stage({ loss_type: 'cispo', epsilon_high: 5, skip_dead_groups: false }),
			stage({ importance_sampling_level: 'sequence_token' }),
			stage({ use_adaptive_entropy: true, entropy_coef: 0.1, entropy_target: 0.5 }),
			stage({ loss_type: 'gmpo', use_bias_correction_kl: false, top_entropy_quantile: 0.2, entropy_coef: 0 }),
			pytorch({ vllm: {} }, { ...hub, ...stage({ loss_type: 'vespo', vllm_importance_sampling_mode: 'token_mask' }) }),
			pytorch({ vllm: {} }, { ...hub, ...stage({ loss_type: 'gmpo', vllm_importance_sampling_correction: false }) }),
			stage({ loss_type: 'luspo', trainer: { importance_sampling_level: 'sequence' } }),
			stage({ loss_type: 'luspo', importance_sampling_level: 'sequence' }),
			{ stages: [{ ...sft, type: 'process-reward-model', labels: { path: 'steps.jsonl' } }] },
			{
				stages: [
					{ ...sft, type: 'dpo', pairs },
					{ ...sft, type: 'reward-model', pairs },
					{ ...sft, type: 'distill', data: pairs },
				],
			},
			pytorch({ processes: 2, strategy: 'fsdp', lora: { r: 8 }, vllm: { tensorParallel: 2 } }),
			pytorch({ rewards: 'in-process' }, { rewards: [{ file: 'a.reward.py' }] }),
		];
		for (const changes of good) assert.deepEqual(faults({ engine: 'pytorch', ...changes }), []);
	});
});

describe('stages only in the embedded engine', () => {
	const stage = (more: object) => ({ ...hub, stages: [{ ...sft, ...more }] });
	each('pytorch', [
		[stage({ type: 'pretrain', corpus: pairs }), /^stages\[0\]\.type: .*"pretrain".* Set "engine": "embedded"/],
		[stage({ data: pairs }), /^stages\[0\]\.data: .*"distill" stage\. Use that stage/],
		[stage({ type: 'distill', teacher: { path: 't' } }), /^stages\[0\]\.teacher: .* Add "on_policy": true/],
		[
			stage({ type: 'distill', teacher: { path: 't' }, on_policy: true, sampling_temperature: 0.5 }),
			/^stages\[0\]\.sampling_temperature: TRL samples at "temperature"/,
		],
		[stage({ type: 'distill' }), /^stages\[0\]\.type: "distill" has no/],
		[stage({ type: 'distill', method: 'minillm' }), /^stages\[0\]\.type: "distill" has no/],
		[
			stage({ type: 'distill', method: 'minillm', teacher: { path: 't' }, beta: 0 }),
			/^stages\[0\]\.beta: "minillm" minimizes the reverse KL/,
		],
		[stage({ type: 'distill', method: 'sdft', teacher: { path: 't' } }), /^stages\[0\]\.teacher: .* its own teacher/],
		[stage({ type: 'distill', method: 'sdft', data: pairs }), /^stages\[0\]\.method: .* Remove "data"/],
		[stage({ type: 'distill', method: 'sdft', beta: 0.5 }), /^stages\[0\]\.beta: .* not apply to "sdft"/],
		[
			stage({ type: 'distill', method: 'sdpo', batch_size: 12 }),
			/^stages\[0\]\.num_generations: "num_generations" 8 does not divide the 12/,
		],
		[
			stage({ type: 'distill', method: 'sdpo', privileged_context: 'answer' }),
			/^stages\[0\]\.privileged_context: .* requires "method" "sdft"/,
		],
	]);
});

describe('batches that TRL can divide', () => {
	const stage = (more: object) => ({ stages: [{ ...grpo, ...more }] });
	each('pytorch', [
		[
			{ ...stage({ prompts_per_step: 5, num_generations: 4 }), pytorch: { processes: 8 } },
			/^stages\[0\]\.prompts_per_step: "prompts_per_step" x "num_generations" \(5 x 4\) is 20 rows, which cannot be divided evenly among 8 processes\. Set "prompts_per_step" to 4 or 6\./,
		],
		[
			stage({ prompts_per_step: 4, num_generations: 2, steps_per_generation: 3 }),
			/ is 8 rows, which cannot be divided evenly among 3 updates \("steps_per_generation"\)\. Set "prompts_per_step" to 3 or 6\./,
		],
		[
			{ stages: [{ ...sft, batch_size: 10 }], pytorch: { processes: 4 } },
			/^stages\[0\]\.batch_size: "batch_size" is 10 rows, which .* 4 processes\. Set "batch_size" to 8 or 12\./,
		],
		[
			{ ...stage({ prompts_per_step: 3, num_generations: 4 }), pytorch: { microBatch: 5 } },
			/^pytorch\.microBatch: "microBatch" 5 does not divide the 12 rows per update in each process: choose 4 or 6\./,
		],
		// The same micro-batch applies to all stages: 24 rows in sft, 16 in grpo.
		[
			{
				stages: [
					{ ...sft, batch_size: 24 },
					{ ...grpo, prompts_per_step: 2 },
				],
				pytorch: { microBatch: 3 },
			},
			/^pytorch\.microBatch: .* the 16 rows .* choose 2 or 4\./,
		],
	]);

	it('can be smaller than a micro-batch', () => {
		const stages = [
			{ ...sft, batch_size: 16 },
			{ ...grpo, prompts_per_step: 16 },
		];
		assert.deepEqual(faults({ engine: 'pytorch', stages, pytorch: { microBatch: 32 } }), []);
	});

	it('are divided by the number of workers on Ray', () => {
		const found = faults({ engine: 'ray', ray: { workers: 3 }, ...stage({ prompts_per_step: 4, num_generations: 2 }) });
		assert.match(found.join(), /which cannot be divided evenly among 3 workers\. Set "prompts_per_step" to 3 or 6/);
		assert.deepEqual(faults({ engine: 'ray', ray: { workers: 4 }, ...stage({ prompts_per_step: 4 }) }), []);
	});

	it('need not contain complete groups per update, unlike in the embedded engine', () => {
		const odd = stage({ prompts_per_step: 3, num_generations: 4, steps_per_generation: 2 });
		assert.deepEqual(faults({ engine: 'pytorch', ...odd }), []);
		assert.match(faults({ engine: 'embedded', ...odd }).join(), /divisor of 3/);
	});
});

describe('ray engine settings', () => {
	each('ray', [
		[{ pytorch: { processes: 2 } }, /^pytorch\.processes: .* set "workers" in "ray"/],
		[{ ray: { address: 'ray://head:10001' } }, /^ray\.address: .*"http:\/\/127.0.0.1:8265" \(ray:\/\/ is/],
		[{ ray: { gpusPerWorker: 1 }, device: 'cpu' }, /^ray\.gpusPerWorker: .* requests GPUs/],
		[{ ray: { gpusPerWorker: 0 }, device: 'cuda' }, /^ray\.gpusPerWorker: .* is 0/],
		[{ ray: { verl: { 'trainer.n': 1 } } }, /^ray\.verl: .* "payload": "verl"/],
		[{ ...hub, ray: { payload: 'verl' }, stages: [sft] }, /^stages\[0\]\.type: verl supports grpo and rloo stages/],
		[{ ray: { payload: 'verl' } }, /^model: verl does not support/],
		[{ pytorch: { strategy: 'fsdp' } }, /^pytorch\.strategy: .* Raise "workers" of "ray"/],
	]);

	it('are optional: the environment can name the cluster', () => {
		assert.deepEqual(faults({ engine: 'ray' }), []);
	});
});

it('checks changed hyperparameters of a running stage, and nothing else', () => {
	const keys = stageSchemaOf('grpo')?.keys ?? {};
	const cispo = { type: 'grpo', loss_type: 'cispo', epsilon: 0.2, epsilon_high: 5, max_resamples: 3 };
	assert.equal(faultOfChange(keys, cispo, { learning_rate: 1e-4, epsilon_high: 2 }, 'embedded'), undefined);
	for (const engine of ['embedded', 'pytorch'] as const) {
		assert.match(faultOfChange(keys, cispo, { epsilon_high: 0.3 }, engine) ?? '', /is the maximum ratio itself/);
	}
	// Defaults of a resolved stage, such as one that an engine does not support, are not checked.
	assert.equal(faultOfChange(keys, { ...cispo, skip_dead_groups: true }, { epsilon_high: 2 }, 'pytorch'), undefined);
});
