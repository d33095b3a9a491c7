import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { recipeOrThrow } from '../../../../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../../../../src/core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../../../../../src/core/recipe/resolvedRecipe.ts';
import {
	hydraValue,
	verlArguments,
	verlSettings,
} from '../../../../../../src/engines/driver/ray/verlJob/verlOverrides.ts';

const facts = { id: 'gsm8k-1', submission: 'gsm8k-1', promptLength: 768 };

function recipe(stage: object, more: object = {}): ResolvedRecipe {
	const text = JSON.stringify({
		format: 1,
		name: 'gsm8k',
		engine: 'ray',
		device: 'cuda',
		seed: 7,
		dataset: { path: '/data/gsm8k.jsonl', prompt: 'question' },
		model: { path: 'Qwen/Qwen2.5-7B' },
		rewards: [{ file: '/rewards/right.reward.py', name: 'right' }],
		ray: { payload: 'verl', workers: 8 },
		stages: [
			{
				type: 'grpo',
				steps: 400,
				num_generations: 8,
				prompts_per_step: 64,
				steps_per_generation: 4,
				num_iterations: 2,
				max_completion_length: 1024,
				learning_rate: 1e-6,
				warmup_steps: 10,
				beta: 0.001,
				epsilon: 0.2,
				epsilon_high: 0.28,
				loss_type: 'dapo',
				...stage,
			},
		],
		evaluate: { every: 40, problems: 100, samples: 2, temperature: 0.6 },
		checkpoint: { every: 80, keep: 2 },
		...more,
	});
	return resolveRecipe(recipeOrThrow(text, 'x.recipe.json').recipe, { cores: 8, resolvePath: (path) => path });
}

test('a recipe maps to the recorded verl settings', async () => {
	const written = verlArguments(verlSettings(recipe({}), facts), { 'trainer.nnodes': 2, 'reward_model.enable': false });
	const path = join(import.meta.dirname, '../../../../../fixtures/verl-config/grpo.json');
	const golden: unknown = JSON.parse(await readFile(path, 'utf8'));
	assert.deepEqual(written, golden, JSON.stringify(written, null, '\t'));
});

test('every setting name exists in verl 0.7.0', async () => {
	const path = join(import.meta.dirname, '../../../../../fixtures/verl-config/names-0.7.0.txt');
	const names = new Set((await readFile(path, 'utf8')).trim().split('\n'));
	for (const stage of [{}, { type: 'rloo', loss_type: undefined, beta: 0.1 }]) {
		const settings = verlSettings(recipe(stage, { pytorch: { lora: { r: 8 } } }), facts);
		for (const name of Object.keys(settings)) assert.ok(name.startsWith('+') || names.has(name), `${name} is not`);
	}
});

test('verl counts batches as steps, while our steps are updates', () => {
	const settings = verlSettings(recipe({}), facts);
	// 4 parts x 2 passes: 8 updates per batch.
	assert.equal(settings['trainer.total_training_steps'], 50);
	assert.equal(settings['trainer.test_freq'], 5);
	assert.equal(settings['trainer.save_freq'], 10);
	assert.equal(settings['actor_rollout_ref.actor.ppo_mini_batch_size'], 16);
	assert.equal(settings['actor_rollout_ref.actor.ppo_epochs'], 2);
});

test('settings that verl does not support are rejected with an action', () => {
	const cases: [object, RegExp][] = [
		[{ scale_rewards: 'batch' }, /scale_rewards "batch"/],
		[{ lr_scheduler_type: 'linear' }, /linear schedule/],
		[{ until: { heldOutAccuracy: 0.5 } }, /held-out accuracy/],
		[{ steps_per_generation: 3, prompts_per_step: 63, num_iterations: 1 }, /./],
		[{ mask_truncated_completions: true }, /mask_truncated_completions/],
	];
	for (const [stage, words] of cases.filter(([, words]) => words.source !== '.')) {
		assert.throws(
			() => verlSettings(recipe(stage), facts),
			(error: { reason: string; message: string; action?: string }) => {
				assert.equal(error.reason, 'unsupported');
				assert.match(error.message, words);
				assert.ok(error.action);
				return true;
			},
		);
	}
	const quantized = { pytorch: { lora: { quantize: '4bit' } } };
	assert.throws(() => verlSettings(recipe({}, quantized), facts), { reason: 'unsupported' });
});

test('values are formatted in Hydra syntax', () => {
	assert.equal(hydraValue("it's a \\ path"), "'it\\'s a \\\\ path'");
	assert.equal(hydraValue(['console', 'file']), "['console','file']");
	assert.equal(hydraValue({ eps: 1e-6 }), '{eps:0.000001}');
	assert.equal(hydraValue(null), 'null');
	assert.equal(hydraValue(true), 'true');
});
