import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { changeable, currentHyperparameters } from '../../../src/extension/currentHyperparameters.ts';
import { hyperparametersSchema } from '../../../src/protocol/control.ts';
import { stageSchema } from '../../../src/protocol/recipeKeys/recipe.ts';

const folder = await mkdtemp(join(tmpdir(), 'hyper-'));
after(() => rm(folder, { recursive: true, force: true }));

test('hyperparameters come from the recipe stage and the recorded changes, and missing files are ignored', async () => {
	assert.deepEqual(await currentHyperparameters(folder, 'grpo'), {});
	const stages = [
		{ type: 'sft', learning_rate: 0.001 },
		{ type: 'grpo', learning_rate: 0.0001, beta: 0, epsilon: 0.2, temperature: 1 },
	];
	await writeFile(join(folder, 'recipe.json'), JSON.stringify({ format: 1, stages }));
	assert.deepEqual(await currentHyperparameters(folder, 'sft'), { learning_rate: 0.001 });
	const event = { time: 1, step: 3, type: 'hyperparameters', changes: { beta: 0.04 }, fromStep: 4 };
	await writeFile(join(folder, 'events.jsonl'), `${JSON.stringify(event)}\n`);
	assert.deepEqual(await currentHyperparameters(folder, 'grpo'), {
		learning_rate: 0.0001,
		beta: 0.04,
		epsilon: 0.2,
		temperature: 1,
	});
});

test('a stage offers the hyperparameters it uses', () => {
	const names = (stage: string | null) => [...changeable(stage).keys()];
	assert.deepEqual(names('sft'), ['learning_rate']);
	assert.deepEqual(names('dpo'), ['learning_rate', 'beta']);
	assert.deepEqual(names('ppo'), ['learning_rate', 'temperature']);
	assert.deepEqual(names('rejection-sampling'), ['temperature']);
	for (const stage of ['grpo', 'rloo', null, 'constructor']) assert.equal(names(stage).length, 5);
	assert.equal(changeable('rloo').get('beta'), 'Weight of the KL term in the reward');
});

test('GRPO offers every hyperparameter that can be changed during a run', () => {
	const names = Object.keys(hyperparametersSchema.entries);
	for (const { keys } of stageSchema.options) {
		for (const name of changeable(keys.type.literal).keys()) assert.ok(names.includes(name), name);
	}
});
