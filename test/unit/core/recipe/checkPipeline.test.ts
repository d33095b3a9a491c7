import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { faultsOf, grpo, pipelineOf, recipeText, sft } from '../pipeline/pipelineRecipes.ts';

const search = { type: 'search', name: 'solve', from: 'cold' };

describe('names', () => {
	test('a recipe without names is unchanged', () => {
		const parsed = parseRecipe(recipeText([sft, grpo]));
		assert.ok(parsed.ok);
		assert.equal(parsed.pipeline, null);
		assert.deepEqual(
			parsed.recipe.stages.map(({ type }) => type),
			['sft', 'grpo'],
		);
	});

	test('either all stages have names or none do', () => {
		const [fault] = faultsOf([{ ...sft, name: 'cold' }, grpo]);
		assert.equal(fault?.path, 'stages[1]');
		assert.match(fault?.message ?? '', /has no "name", but others do\. Name all stages or none/);
	});

	for (const name of ['a/b', '..', 'a~1', '.a', 'a.', 'pipeline.json', 'x'.repeat(41), 'ä']) {
		test(`${name.slice(0, 20)} cannot name a folder`, () => {
			const [fault] = faultsOf([{ ...sft, name }]);
			assert.equal(fault?.path, 'stages[0].name');
			assert.match(fault?.message ?? '', /is used as a folder name/);
		});
	}

	test('are unique, ignoring case', () => {
		const [fault] = faultsOf([
			{ ...sft, name: 'cold' },
			{ ...grpo, name: 'Cold', from: 'cold' },
		]);
		assert.equal(fault?.path, 'stages[1].name');
		assert.match(fault?.message ?? '', /Two stages are named "cold"/);
	});
});

describe('inputs', () => {
	const refused: [string, object, string, RegExp][] = [
		['a name that no stage has', { ...grpo, name: 'b', from: 'kold' }, 'from', /does not exist: did you mean "cold"\?/],
		['a stage that references itself', { ...grpo, name: 'b', from: 'b' }, 'from', /references the stage itself/],
		[
			'a model from a stage that trains none',
			{ ...grpo, name: 'b', from: 'solve' },
			'from',
			/"search" and does not train a model/,
		],
		[
			'data from a stage that produces none',
			{ type: 'distill', name: 'b', data: { stage: 'cold' }, steps: 1, learning_rate: 0.1 },
			'data',
			/"sft" and produces no data/,
		],
		[
			'data of the wrong kind',
			{ type: 'dpo', name: 'b', pairs: { stage: 'solve' }, steps: 1, learning_rate: 0.1 },
			'pairs',
			/which produces completions, not pairs: add "pairs" to its "export"/,
		],
		[
			'a reward from a stage that trains no reward model',
			{ ...grpo, name: 'b', rewards: [{ use: 'accuracy' }, { use: 'reward-model', stage: 'cold' }] },
			'rewards[1]',
			/which has type "sft" and does not train a reward model\. Choose a stage of type "reward-model"/,
		],
		[
			'an unknown key of a reward model from a stage',
			{ ...grpo, name: 'b', rewards: [{ use: 'reward-model', stage: 'cold', wight: 2 }] },
			'rewards[0].wight',
			/did you mean "weight"\?/,
		],
		[
			'mixed-in data from a stage that produces none',
			{
				type: 'rejection-sampling',
				name: 'b',
				from: 'cold',
				extra: [{ path: 'x.jsonl' }, { stage: 'cold', share: 0.5 }],
			},
			'extra[1]',
			/"sft" and produces no data/,
		],
		[
			'a "model" next to "from"',
			{ ...grpo, name: 'b', from: 'cold', model: { path: 'x' } },
			'model',
			/Remove one of them/,
		],
		[
			'an accuracy from a stage that measures none',
			{ ...grpo, name: 'b', skipIf: { stage: 'solve', heldOutAccuracy: 0.5 } },
			'skipIf',
			/does not measure held-out accuracy/,
		],
		['an unknown key', { ...grpo, name: 'b', form: 'cold' }, 'form', /did you mean "from"\?/],
	];
	for (const [what, stage, key, message] of refused) {
		test(`${what} is rejected at its location`, () => {
			const faults = faultsOf([{ ...sft, name: 'cold' }, search, stage], { engine: 'pytorch' });
			const fault = faults.find(({ path }) => path === `stages[2].${key}`);
			assert.ok(fault, JSON.stringify(faults));
			assert.match(fault.message, message);
		});
	}

	test('pairs can come from rejection sampling with "solution_pairs"', () => {
		const stages = (changes: object) => [
			{ ...sft, name: 'cold' },
			{ type: 'rejection-sampling', name: 'accept', from: 'cold', ...changes },
			{ type: 'dpo', name: 'b', from: 'cold', pairs: { stage: 'accept' }, steps: 1, learning_rate: 0.1 },
		];
		assert.equal(pipelineOf(stages({ solution_pairs: true })).stages.length, 3);
		const [fault] = faultsOf(stages({}));
		assert.equal(fault?.path, 'stages[2].pairs');
		assert.match(fault.message, /which produces completions, not pairs: set its "solution_pairs" to true/);
	});

	test('a stage can reference a later one', () => {
		const pipeline = pipelineOf([
			{ ...grpo, name: 'rl', from: 'cold' },
			{ ...sft, name: 'cold' },
		]);
		assert.equal(pipeline.stages[0]?.from, 'cold');
	});

	test('minutes only apply to training stages', () => {
		const [fault] = faultsOf([
			{ ...sft, name: 'a', minutes: 5 },
			{ type: 'evaluate', name: 'b', from: 'a', minutes: 5 },
		]);
		assert.equal(fault?.path, 'stages[1].minutes');
	});

	test('comparisons are between two evaluation stages', () => {
		const stages = [
			{ ...sft, name: 'a' },
			{ type: 'evaluate', name: 'of-a', from: 'a' },
		];
		const compared = (stage: string, against: string) =>
			faultsOf(stages, { compare: [{ claim: 'better', stage, against }] }).map(({ path, message }) => [path, message]);
		assert.deepEqual(compared('of-a', 'a'), [
			['compare[0].against', '"against" is "a", which is not an evaluation stage: the options are of-a.'],
		]);
		assert.match(compared('of-a', 'of-b')[0]?.[1] ?? '', /did you mean "of-a"/);
		assert.deepEqual(compared('of-a', 'of-a'), [
			['compare[0].against', '"against" refers to the stage "of-a" itself. Choose a different stage.'],
		]);
	});

	test('a cycle is reported', () => {
		const [fault] = faultsOf([
			{ ...sft, name: 'a' },
			{ ...grpo, name: 'b', from: 'd' },
			{ ...grpo, name: 'c', from: 'b' },
			{ ...grpo, name: 'd', from: 'c' },
		]);
		assert.match(fault?.message ?? '', /in a cycle \(b -> d -> c -> b\)/);
		assert.equal(fault?.path, 'stages[1].name');
	});
});

describe('a recipe without names', () => {
	for (const [key, value] of Object.entries({
		from: 'x',
		seed: 2,
		skipIf: { stage: 'x', heldOutAccuracy: 0.5 },
		minutes: 2,
	})) {
		test(`cannot have "${key}"`, () => {
			const [fault] = faultsOf([{ ...grpo, [key]: value }]);
			assert.equal(fault?.path, `stages[0].${key}`);
			assert.match(
				fault?.message ?? '',
				/is supported only in pipeline stages, but no stage has a name: give every stage a "name"/,
			);
		});
	}

	test('cannot have runner stages or data from other stages', () => {
		assert.match(faultsOf([{ type: 'search' }])[0]?.message ?? '', /"search" is supported only in pipelines/);
		const labels = { type: 'value-model', labels: { stage: 'x' }, steps: 1, learning_rate: 0.1 };
		assert.match(faultsOf([labels])[0]?.message ?? '', /"labels" references another stage, but no stage has a name/);
	});
});

test('only a pipeline stage can use a reward model from another stage', () => {
	const model = { use: 'reward-model', stage: 'x' };
	const [fault] = faultsOf([{ ...grpo, rewards: [model] }]);
	assert.match(fault?.message ?? '', /"rewards" is supported only in pipeline stages/);
	const faults = faultsOf([grpo], { rewards: [model] });
	assert.deepEqual(
		faults.map(({ path }) => path),
		['rewards[0]', 'rewards[0].stage'],
	);
});

describe('each stage', () => {
	test('is checked as a separate recipe, with errors at its location', () => {
		const faults = faultsOf([
			{ ...sft, name: 'a', warmup_steps: 9 },
			{ ...grpo, name: 'b', from: 'a', dataset: { task: 'string', digits: 2 } },
			{ ...grpo, name: 'c', model: { layers: 1, width: 17, heads: 2 } },
		]);
		assert.deepEqual(
			faults.map(({ path }) => path),
			['stages[0].warmup_steps', 'stages[1].dataset', 'stages[2].model.width'],
		);
	});

	test('an error in the whole recipe is reported once', () => {
		const faults = faultsOf(
			[
				{ ...sft, name: 'a' },
				{ ...grpo, name: 'b', from: 'a' },
			],
			{ dataset: { task: 'string', digits: 2 } },
		);
		assert.deepEqual(
			faults.map(({ path }) => path),
			['dataset'],
		);
	});

	test('searches and evaluations require a policy', () => {
		const [fault] = faultsOf([{ type: 'evaluate', name: 'measure' }]);
		assert.equal(fault?.path, 'stages[0]');
		assert.match(fault?.message ?? '', /needs a policy\. Add "from"/);
		const measured = { type: 'evaluate', name: 'measure', model: { path: 'x' } };
		assert.equal(pipelineOf([measured]).stages.length, 1);
		const [kind] = faultsOf([{ ...measured, category: 'x' }]);
		assert.equal(kind?.path, 'stages[0].category');
		assert.match(
			kind?.message ?? '',
			/which is not a column in problems from the task "addition"\. Choose one of a, b, operation/,
		);
		const bilingual = { ...measured, category: 'category', dataset: { task: 'bilingual' } };
		assert.equal(pipelineOf([bilingual]).stages.length, 1, 'problems from this task have that column');
	});
});
