import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as v from 'valibot';
import { Failure } from '../../../../src/base/failure.ts';
import { checkRecipe } from '../../../../src/core/recipe/checkRecipe.ts';
import { decodeResolvedRecipe, resolveRecipe, withEngineSettings } from '../../../../src/core/recipe/resolve.ts';
import { editDistance, suggest } from '../../../../src/core/recipe/suggest.ts';
import { type Recipe, recipeSchema, taskNames, templateNames } from '../../../../src/protocol/recipeKeys/recipe.ts';

const machine = { cores: 2, resolvePath: (path: string) => (path.startsWith('/') ? path : `/project/${path}`) };
const recipe = (changes: object = {}): Recipe =>
	v.parse(recipeSchema, {
		name: 'addition',
		dataset: { task: 'addition' },
		model: { layers: 4, width: 128, heads: 4 },
		stages: [
			{ type: 'sft', steps: 180, learning_rate: 1e-3 },
			{ type: 'grpo', steps: 400, learning_rate: 1e-4 },
		],
		...changes,
	});

describe('resolving a recipe', () => {
	it('fills in every default', () => {
		const resolved = resolveRecipe(recipe(), machine);
		const optimizer = {
			until: null,
			lr_scheduler_type: 'constant_with_warmup',
			warmup_steps: 0,
			max_grad_norm: 1,
			weight_decay: 0,
			adam_beta1: 0.9,
			adam_beta2: 0.999,
			adam_epsilon: 1e-8,
		};
		assert.deepEqual(resolved, {
			format: 1,
			name: 'addition',
			engine: 'embedded',
			device: 'auto',
			whenBusy: 'queue',
			seed: 1,
			workers: 2,
			sampleRows: 32,
			trainRows: 16,
			dataset: { task: 'addition', digits: 3, subtraction: false, judged: 0, proposed: 0 },
			// bos and 8 prompt tokens; 24 + 4 tokens, 4 tags and eos for the worked completion, and a fifth more for
			// exploration.
			model: { layers: 4, width: 128, heads: 4, feedForward: 512, context: 9 + 40 },
			template: { name: 'r1', prompt: '{prompt}', think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
			rewards: [
				{ use: 'accuracy', name: 'accuracy', weight: 1 },
				{ use: 'format', name: 'format', weight: 0.2 },
			],
			stages: [
				{ type: 'sft', data: null, steps: 180, learning_rate: 1e-3, ...optimizer, batch_size: 64 },
				{
					type: 'grpo',
					steps: 400,
					learning_rate: 1e-4,
					...optimizer,
					num_generations: 8,
					prompts_per_step: 16,
					steps_per_generation: 1,
					num_iterations: 1,
					max_completion_length: 40,
					temperature: 1,
					beta: 0,
					epsilon: 0.2,
					epsilon_high: 0.2,
					loss_type: 'dapo',
					use_bias_correction_kl: false,
					scale_rewards: 'group',
					mask_truncated_completions: false,
					dynamic_sampling: false,
					max_resamples: 3,
					skip_dead_groups: true,
					control: null,
				},
			],
			scoring: { pauseAbove: 0.1, batchSeconds: 60, rowSeconds: 5, loadSeconds: 60, memoryMb: 2048 },
			evaluate: { every: 20, problems: 256, samples: 1, temperature: 1 },
			checkpoint: { every: 50, keep: 3 },
			log: { rolloutsEvery: 1, tokens: true, states: true },
		});
	});

	it('round-trips through recipe.json for every task and template', () => {
		for (const task of taskNames) {
			for (const template of templateNames) {
				const resolved = resolveRecipe(
					recipe({ dataset: { task }, template, rewards: [{ use: 'accuracy' }] }),
					machine,
				);
				assert.deepEqual(decodeResolvedRecipe(JSON.parse(JSON.stringify(resolved))), resolved);
			}
		}
		assert.throws(() => decodeResolvedRecipe({ ...resolveRecipe(recipe(), machine), extra: 1 }), Failure);
		assert.throws(() => decodeResolvedRecipe(null), Failure);
	});

	it('keeps explicit values and makes paths absolute', () => {
		const resolved = resolveRecipe(
			recipe({
				dataset: { path: 'train.jsonl', answer: 'gold', heldOut: '/data/test.jsonl' },
				model: { path: 'runs/x/checkpoints/step_000010' },
				rewards: [
					{ file: 'rewards/a.reward.ts', weight: -1 },
					{ use: 'accuracy', weight: 0 },
				],
				stages: [
					{
						type: 'grpo',
						steps: 5,
						learning_rate: 1,
						epsilon: 0.1,
						until: { heldOutAccuracy: 0.5, every: 7 },
						control: 'shuffle',
					},
				],
				workers: 3,
				evaluate: { every: 9 },
			}),
			machine,
		);
		assert.deepEqual(resolved.dataset, {
			path: '/project/train.jsonl',
			prompt: 'prompt',
			answer: 'gold',
			solution: 'solution',
			heldOut: '/data/test.jsonl',
			heldOutShare: 0.1,
		});
		assert.deepEqual(resolved.model, { path: '/project/runs/x/checkpoints/step_000010' });
		assert.deepEqual(resolved.rewards[0], { file: '/project/rewards/a.reward.ts', name: null, weight: -1 });
		const [stage] = resolved.stages;
		assert.ok(stage?.type === 'grpo');
		assert.equal(stage.epsilon_high, 0.1);
		assert.equal(stage.max_completion_length, 64);
		assert.equal(stage.control, 'shuffle');
		assert.deepEqual(stage.until, { heldOutAccuracy: 0.5, every: 7, problems: 256 });
		assert.equal(resolved.workers, 3);
		assert.deepEqual(resolved.evaluate, { every: 9, problems: 256, samples: 1, temperature: 1 });
	});

	it("leaves a new model's context open if it depends on the rows of a file", () => {
		const resolved = resolveRecipe(recipe({ dataset: { path: 'x.jsonl' } }), machine);
		assert.ok('context' in resolved.model && resolved.model.context === null);
	});

	it('derives micro-batches only from the stages, regardless of the machine and the number of workers', () => {
		const sizes = (cores: number, changes: object = {}) => {
			const { workers, sampleRows, trainRows } = resolveRecipe(recipe(changes), { ...machine, cores });
			return [workers, sampleRows, trainRows];
		};
		for (const cores of [1, 2, 3, 8, 64]) assert.deepEqual(sizes(cores), [cores, 32, 16]);
		assert.deepEqual(sizes(2, { workers: 7 }), [7, 32, 16]);
		const small = {
			stages: [
				{ type: 'grpo', steps: 1, learning_rate: 1, prompts_per_step: 4, num_generations: 4, steps_per_generation: 2 },
			],
		};
		for (const cores of [2, 64]) assert.deepEqual(sizes(cores, small), [cores, 4, 4]);
	});

	it('fills in stages that train heads', () => {
		const of = (stage: object) => {
			const { stages, model } = resolveRecipe(recipe({ stages: [{ steps: 9, learning_rate: 1, ...stage }] }), machine);
			return { stage: stages[0] as Record<string, unknown>, model };
		};
		const { stage: value, model } = of({ type: 'value-model' });
		assert.deepEqual(
			[value.until, value.labels, value.num_generations, value.prompts_per_step, value.max_completion_length],
			[null, null, 8, 16, 40],
		);
		assert.equal('context' in model && model.context, 9 + 40);
		assert.ok(!('completions' in value));
		const { stage: process } = of({ type: 'process-reward-model', split: { text: ';' }, estimation: 'hard' });
		assert.deepEqual(
			[process.completions, process.num_generations, process.split, process.estimation],
			[8, 2, { text: ';' }, 'hard'],
		);
		const { stage: labeled } = of({ type: 'value-model', labels: { path: 'steps.jsonl', separator: '' } });
		assert.deepEqual(labeled.labels, { path: '/project/steps.jsonl', separator: '', heldOutShare: 0.1 });
		const whole = resolveRecipe(recipe({ stages: [{ type: 'value-model', steps: 9, learning_rate: 1 }] }), machine);
		assert.deepEqual(decodeResolvedRecipe(JSON.parse(JSON.stringify(whole))), whole);
	});

	it('checks stages that train heads', () => {
		const fault = (stage: object) =>
			checkRecipe(recipe({ stages: [{ steps: 9, learning_rate: 1, ...stage }] })).map(
				({ path, message }) => `${path.join('.')}: ${message}`,
			);
		const process = { type: 'process-reward-model' };
		const labels = { path: 'steps.jsonl' };
		assert.deepEqual(fault(process), []);
		assert.match(fault({ ...process, split: 'stanzas' }).join(), /stages.0.split: Unknown step split "stanzas"/);
		assert.match(fault({ ...process, split: 'completion' }).join(), /results in a single step/);
		assert.match(
			fault({ ...process, labels, completions: 4 }).join(),
			/stages.0.completions: .* "labels" specifies a file/,
		);
		assert.match(fault({ type: 'value-model', labels, num_generations: 4 }).join(), /"num_generations" applies to/);
		assert.match(fault({ type: 'value-model', batch_size: 4 }).join(), /Add "labels"/);
		assert.match(fault({ type: 'value-model', steps_per_generation: 3 }).join(), /divisor of 16/);
		assert.match(fault({ ...process, prompts_per_step: 1024, completions: 64 }).join(), /131072 per step/);
	});

	it('fills in pytorch and ray engine settings', () => {
		const stages = [
			{ type: 'rloo', steps: 2, learning_rate: 1, epsilon: 0.1 },
			{ type: 'dpo', steps: 2, learning_rate: 1, pairs: { path: 'pairs.jsonl', prompt: 'q' } },
			{ type: 'reward-model', steps: 2, learning_rate: 1, pairs: { path: 'org/pairs', split: 'test' } },
			{ type: 'distill', steps: 2, learning_rate: 1, data: { path: 'teacher.parquet' }, minReward: 0.5 },
			{ type: 'grpo', steps: 2, learning_rate: 1, loss_type: 'cispo', trainer: { top_k: 20 } },
		];
		const resolved = resolveRecipe(
			recipe({
				engine: 'ray',
				model: { path: 'org/model', revision: 'v1', template: 'chat.jinja' },
				dataset: { preset: 'math' },
				template: { prompt: '{prompt}', chat: true, system: 'Think.', think: ['<t>', '</t>'], answer: null },
				pytorch: { precision: 'bfloat16', lora: { r: 8 }, vllm: {} },
				ray: { workers: 2, storage: 'shared' },
				stages,
			}),
			machine,
		);
		assert.deepEqual(resolved.pytorch, {
			processes: 1,
			strategy: 'ddp',
			precision: 'bfloat16',
			attention: 'auto',
			gradientCheckpointing: false,
			microBatch: null,
			packing: false,
			maxLength: 1024,
			lora: { r: 8, alpha: 16, dropout: 0, targets: 'all-linear', quantize: 'none' },
			vllm: { mode: 'colocate', server: null, memory: 0.3, tensorParallel: 1 },
			rewards: 'hosts',
		});
		assert.deepEqual(resolved.ray, {
			address: null,
			workers: 2,
			cpusPerWorker: 1,
			gpusPerWorker: null,
			storage: '/project/shared',
			restarts: 3,
			pip: [],
			environment: {},
			payload: 'trl',
			verl: {},
		});
		assert.deepEqual(resolved.model, { path: 'org/model', revision: 'v1', template: '/project/chat.jinja' });
		assert.deepEqual(resolved.template, {
			name: 'custom',
			prompt: '{prompt}',
			think: ['<t>', '</t>'],
			answer: null,
			chat: true,
			system: 'Think.',
		});
		assert.deepEqual(resolved.dataset, {
			path: 'DigitalLearningGmbH/MATH-lighteval',
			config: 'default',
			split: 'train',
			heldOut: 'test',
			preset: 'math',
			prompt: 'problem',
			answer: 'solution',
			solution: 'solution',
			heldOutShare: 0.1,
		});
		const [rloo, dpo, reward, distill, grpo] = resolved.stages;
		assert.ok(rloo?.type === 'rloo' && dpo?.type === 'dpo' && reward?.type === 'reward-model');
		assert.ok(distill?.type === 'distill' && grpo?.type === 'grpo');
		assert.deepEqual([rloo.epsilon, rloo.epsilon_high, rloo.beta, rloo.max_completion_length], [0.1, 0.1, 0, 64]);
		const columns = { chosen: 'chosen', rejected: 'rejected', heldOutShare: 0.1 };
		assert.deepEqual(dpo.pairs, { ...columns, path: '/project/pairs.jsonl', split: 'train', prompt: 'q' });
		assert.deepEqual(reward.pairs, { ...columns, path: 'org/pairs', split: 'test', prompt: 'prompt' });
		assert.deepEqual(distill.data, {
			path: '/project/teacher.parquet',
			split: 'train',
			prompt: 'prompt',
			completion: 'completion',
			answer: 'answer',
		});
		assert.equal(distill.minReward, 0.5);
		// TRL computes every row regardless of its advantage.
		assert.equal(grpo.skip_dead_groups, false);
		assert.deepEqual(grpo.trainer, { top_k: 20 });
		assert.deepEqual(decodeResolvedRecipe(JSON.parse(JSON.stringify(resolved))), resolved);
	});

	it('adds the tags of tool calls to the template of an embedded recipe with an environment', () => {
		const environment = { file: 'guess.env.py' };
		const { template } = resolveRecipe({ ...recipe(), environment }, machine);
		assert.deepEqual(template.call, ['<call>', '</call>']);
		assert.deepEqual(template.result, ['<result>', '</result>']);
		const own = { prompt: '{prompt}', think: ['<t>', '</t>'], answer: null, call: ['[', ']'] };
		const resolved = resolveRecipe(recipe({ environment, template: own }), machine);
		assert.deepEqual([resolved.template.call, resolved.template.result?.[0]], [['[', ']'], '<result>']);
		assert.deepEqual(decodeResolvedRecipe(JSON.parse(JSON.stringify(resolved))), resolved);
		assert.equal('call' in resolveRecipe(recipe(), machine).template, false);
	});

	it('keeps the precision where the engine reads it', () => {
		const embedded = resolveRecipe(recipe({ device: 'cuda', precision: 'bfloat16' }), machine);
		assert.deepEqual([embedded.precision, embedded.pytorch], ['bfloat16', undefined]);
		assert.deepEqual(decodeResolvedRecipe(JSON.parse(JSON.stringify(embedded))), embedded);
		assert.equal('precision' in resolveRecipe(recipe({}), machine), false);
		const torch = resolveRecipe(recipe({ engine: 'pytorch', precision: 'float16' }), machine);
		assert.deepEqual(['precision' in torch, torch.pytorch?.precision], [false, 'float16']);
		const own = resolveRecipe(recipe({ engine: 'pytorch', pytorch: { precision: 'bfloat16' } }), machine);
		assert.equal(own.pytorch?.precision, 'bfloat16');
		const moved = withEngineSettings({ ...embedded, engine: 'pytorch' });
		assert.deepEqual(['precision' in moved, moved.pytorch?.precision], [false, 'bfloat16']);
	});

	it('fills in engine settings for a run that continues on another engine', () => {
		const embedded = resolveRecipe(recipe(), machine);
		assert.equal(withEngineSettings(embedded), embedded);
		const moved = withEngineSettings({ ...embedded, engine: 'pytorch' });
		assert.equal(moved.pytorch?.processes, 1);
		assert.equal(withEngineSettings(moved), moved);
	});

	it('throws the first error, with the number of others', () => {
		const bad = recipe({ name: 'a/b', model: { layers: 1, width: 9, heads: 2 } });
		assert.equal(checkRecipe(bad).length, 2);
		assert.throws(
			() => resolveRecipe(bad, machine),
			(error) => error instanceof Failure && /"name" is not a valid folder name.*\(1 more\)/.test(error.message),
		);
	});

	it('checks rewards and custom templates', () => {
		const messages = (changes: object) =>
			checkRecipe(recipe(changes))
				.map((fault) => fault.message)
				.join('\n');
		assert.match(messages({ rewards: [{ use: 'accuracy' }, { use: 'accuracy' }] }), /"accuracy" is listed twice/);
		assert.match(messages({ rewards: [{ use: 'accuracy', weight: 0 }] }), /Every "weight"/);
		assert.match(messages({ template: 'plain' }), /"format" requires tags/);
		assert.match(
			messages({ template: { prompt: 'x', think: null, answer: null } }),
			/Insert \{prompt\} where the problem goes/,
		);
		assert.equal(messages({}), '');
	});
});

describe('suggestions', () => {
	it('include only similar names', () => {
		assert.equal(editDistance('kitten', 'sitting'), 3);
		assert.equal(editDistance('abcd', 'abdc'), 1);
		assert.equal(editDistance('', 'abc'), 3);
		assert.equal(suggest('learningRate', ['learning_rate', 'steps']), 'learning_rate');
		assert.equal(suggest('eposilon', ['epsilon', 'epsilon_high']), 'epsilon');
		assert.equal(suggest('colour', ['steps', 'beta']), null);
		assert.equal(suggest('x'.repeat(100_000), ['steps']), null);
	});
});
