import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';

const own = { use: 'learnability' };
const accuracy = { use: 'accuracy' };
const addition = { task: 'addition', proposed: 0.3 };

/** Returns the errors in a recipe whose policy poses problems. */
function faultsOf({
	rewards = [accuracy, own],
	dataset = addition,
	stage = {},
	before = [],
	...more
}: {
	rewards?: object[];
	dataset?: object;
	stage?: object;
	/** Earlier stages. */
	before?: object[];
	engine?: string;
}): string[] {
	const common = { type: 'grpo', steps: 1, learning_rate: 0.1, num_generations: 4, prompts_per_step: 5, proposals: {} };
	const recipe = {
		...{ name: 'r', dataset, rewards, model: { layers: 1, width: 8, heads: 1 }, ...more },
		stages: [...before, { ...common, ...stage }],
	};
	const parsed = parseRecipe(JSON.stringify(recipe));
	return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
}

it('accepts problems that the policy poses', () => {
	assert.deepEqual(faultsOf({}), []);
	assert.deepEqual(
		faultsOf({ dataset: { task: 'addition' } }),
		[],
		'a single stage can continue another pipeline stage',
	);
	assert.deepEqual(faultsOf({ stage: { type: 'rloo', prompts_per_step: 15 } }), []);
	for (const task of ['arithmetic', 'countdown']) assert.deepEqual(faultsOf({ dataset: { task, proposed: 0.3 } }), []);
});

const faults: [what: string, recipe: Parameters<typeof faultsOf>[0], pattern: RegExp][] = [
	['no reward for proposals', { rewards: [accuracy] }, /^stages\[0\]\.proposals: .* requires the reward/],
	['no reward for answers', { rewards: [own] }, /^rewards\[0\]: "learnability" requires another reward/],
	[
		'answer rewards without a weight',
		{ rewards: [{ ...accuracy, weight: 0 }, own] },
		/^rewards: Every reward for answers has weight 0/,
	],
	['no proposals', { stage: { proposals: undefined } }, /^rewards\[1\]: .* applies to stages with "proposals"/],
	[
		'a batch without room for answers',
		{ stage: { prompts_per_step: 4 } },
		/^stages\[0\]\.prompts_per_step: .* must be a multiple of 5: set it to 5\.$/,
	],
	['a batch with an incomplete group', { stage: { prompts_per_step: 8 } }, /a multiple of 5: set it to 5 or 10\.$/],
	['a curriculum', { stage: { curriculum: {} } }, /^stages\[0\]\.curriculum: .* Remove one of the two keys\.$/],
	['dynamic sampling', { stage: { dynamic_sampling: true } }, /^stages\[0\]\.dynamic_sampling: /],
	[
		'a task that cannot solve posed problems',
		{ dataset: { task: 'string' } },
		/^stages\[0\]\.proposals: Problems for the task "string"/,
	],
	[
		'a model that has not learned to pose problems',
		{ dataset: { task: 'addition' }, before: [{ type: 'sft', steps: 1, learning_rate: 0.1, batch_size: 4 }] },
		/^stages\[1\]\.proposals: A new model has not learned/,
	],
	['problems from a file', { dataset: { path: 'a.jsonl' } }, /^stages\[0\]\.proposals: Problems from files/],
	[
		'a positive reward for invalid proposals',
		{ stage: { proposals: { invalid_reward: 1 } } },
		/^stages\[0\]\.proposals\.invalid_reward: /,
	],
	['the pytorch engine', { engine: 'pytorch' }, /^stages\[0\]\.proposals: TRL reads prompts from the data/],
];
for (const [what, recipe, pattern] of faults) {
	it(`rejects ${what}`, () => {
		const found = faultsOf(recipe);
		assert.ok(
			found.some((fault) => pattern.test(fault)),
			found.join('\n'),
		);
	});
}
