import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

test('a sweep plans with the longest run, and checks all values first', async (context) => {
	const place = await Workplace.make(context);
	await place.write('tiny.recipe.json', JSON.stringify(tinyRecipe));
	const sweep = (...args: string[]) => place.call('sweep', 'tiny.recipe.json', '--dry-run', '--json', ...args);
	const varied = await sweep('--vary', 'stages.1.steps=10,100', '--seeds', '2', '--budget', '250');
	assert.equal(varied.status, 0, varied.stderr);
	const [plan] = objects(varied.stdout);
	assert.deepEqual(plan, { kind: 'plan', runs: 2, combinations: 4, rungs: [103], counts: [2], cost: 2 * 103 });
	const refused = await sweep('--vary', 'stages.1.steps=10,100', '--halving');
	assert.equal(refused.status, 2, refused.stdout);
	assert.match(refused.stderr, /runs of the same length/);
	const wrong = await sweep('--vary', 'stages.1.learning_rate=1e-4,fast');
	assert.equal(wrong.status, 2, wrong.stdout);
});
