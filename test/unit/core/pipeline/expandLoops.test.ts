import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { placeholders, startOf } from '../../../../src/core/pipeline/compileStage.ts';
import { dependenciesOf, orderStages } from '../../../../src/core/pipeline/pipelineGraph.ts';
import { skipReason } from '../../../../src/core/pipeline/planStage.ts';
import type { StageState } from '../../../../src/protocol/pipeline.ts';
import type { NamedStage } from '../../../../src/protocol/recipeKeys/pipelineRecipe.ts';
import { freshState } from '../../../../src/runs/pipeline/startPipeline.ts';
import { faultsOf, grpo, pipelineOf, sft } from './pipelineRecipes.ts';

const base = { ...sft, name: 'base' };
const search = { type: 'search', name: 'search', from: { previous: 'value', first: 'base' }, params: { n: 2 } };
const learn = { ...sft, name: 'learn', from: 'base', data: { stage: 'search' } };
const value = {
	...{ type: 'value-model', name: 'value', from: 'learn', steps: 4, learning_rate: 0.01 },
	labels: { stage: 'search', separator: '' },
};
const measure = { type: 'evaluate', name: 'measure', from: 'value', problems: 4 };
const exporting = { ...search, export: ['completions', 'labels'] };
const loop = { loop: 'round', times: 2, stages: [exporting, learn, value, measure] };

describe('a loop', () => {
	test('is expanded into ordinary stages', () => {
		const { stages } = pipelineOf([base, loop, { ...grpo, name: 'rl', from: 'learn-2' }]);
		const common = { type: 'search', params: { n: 2 }, export: ['completions', 'labels'] };
		assert.deepEqual(JSON.parse(JSON.stringify(stages)), [
			base,
			{ ...common, name: 'search-1', from: { stage: 'base' }, seed: 4, round: { of: 'search', number: 1 } },
			{ ...learn, name: 'learn-1', data: { stage: 'search-1' }, seed: 4, round: { of: 'learn', number: 1 } },
			{
				...value,
				...{ name: 'value-1', from: 'learn-1', labels: { stage: 'search-1', separator: '' } },
				...{ seed: 4, round: { of: 'value', number: 1 } },
			},
			// An evaluation measures all rounds the same way, so it has no seed of its own.
			{ ...measure, name: 'measure-1', from: 'value-1', round: { of: 'measure', number: 1 } },
			{ ...common, name: 'search-2', from: { stage: 'value-1' }, seed: 5, round: { of: 'search', number: 2 } },
			{ ...learn, name: 'learn-2', data: { stage: 'search-2' }, seed: 5, round: { of: 'learn', number: 2 } },
			{
				...value,
				...{ name: 'value-2', from: 'learn-2', labels: { stage: 'search-2', separator: '' } },
				...{ seed: 5, round: { of: 'value', number: 2 } },
			},
			{ ...measure, name: 'measure-2', from: 'value-2', round: { of: 'measure', number: 2 } },
			{ ...grpo, name: 'rl', from: 'learn-2' },
		]);
	});

	test('is equivalent to its expansion', () => {
		const { stages } = pipelineOf([base, loop]);
		assert.deepEqual(pipelineOf(stages).stages, stages);
	});

	test('runs one round after another', () => {
		const ordered = orderStages(pipelineOf([base, loop]).stages);
		assert.ok(ordered.ok);
		assert.deepEqual(
			ordered.stages.map(({ name }) => name),
			['base', ...['search-1', 'learn-1', 'value-1', 'measure-1'], ...['search-2', 'learn-2', 'value-2', 'measure-2']],
		);
	});

	test('can start from its own model and then continue from the previous round', () => {
		const model = { layers: 2, width: 16, heads: 2 };
		const pipeline = pipelineOf([
			{ loop: 'x', times: 2, stages: [{ ...sft, name: 'a', from: { previous: 'a', checkpoint: 'best' }, model }] },
		]);
		const [one, two] = pipeline.stages;
		assert.ok(one && two);
		assert.deepEqual(placeholders(pipeline, one).start, { model });
		assert.deepEqual(two.from, { stage: 'a-1', checkpoint: 'best' });
		assert.equal(two.model, undefined);
	});

	test('uses data and conditions from the previous round', () => {
		const later = {
			...{ ...learn, name: 'learn', data: { previous: 'search', answer: 'x' } },
			skipIf: { previous: 'measure', heldOutAccuracy: 0.9 },
		};
		const { stages } = pipelineOf([
			base,
			{ loop: 'x', times: 2, stages: [search, later, { ...value, labels: undefined }, measure] },
		]);
		const of = (name: string) => stages.find((stage) => stage.name === name);
		assert.equal(of('learn-1')?.data, undefined);
		assert.equal(of('learn-1')?.skipIf, undefined);
		assert.deepEqual(of('learn-2')?.data, { stage: 'search-1', answer: 'x' });
		assert.deepEqual(of('learn-2')?.skipIf, { stage: 'measure-1', heldOutAccuracy: 0.9 });
		assert.deepEqual(dependenciesOf(of('learn-2') as never), ['base', 'search-1', 'measure-1']);
	});

	test('mixes in data from previous rounds, and uses a reward from the current round', () => {
		const sample = {
			...{ type: 'rejection-sampling', name: 'sample', from: { previous: 'learn', first: 'base' }, problems: 4 },
			extra: [{ previous: 'sample', share: 0.25 }],
			solution_pairs: true,
		};
		const judge = {
			...{ type: 'reward-model', name: 'judge', from: 'base', pairs: { stage: 'sample' } },
			...{ steps: 2, learning_rate: 0.01 },
		};
		const rl = { ...grpo, name: 'learn', from: 'base', rewards: [{ use: 'reward-model', stage: 'judge' }] };
		const { stages } = pipelineOf([base, { loop: 'x', times: 2, stages: [sample, judge, rl] }]);
		const of = (name: string) => stages.find((stage) => stage.name === name);
		assert.equal(of('sample-1')?.extra, undefined);
		assert.deepEqual(of('sample-2')?.extra, [{ stage: 'sample-1', share: 0.25 }]);
		assert.deepEqual(of('learn-2')?.rewards, [{ use: 'reward-model', activation: 'none', stage: 'judge-2' }]);
	});

	test('wraps seeds at 2^32', () => {
		const { stages } = pipelineOf([base, { loop: 'x', times: 2, stages: [{ ...sft, name: 'a', seed: 4294967295 }] }]);
		assert.deepEqual(
			stages.map(({ seed }) => seed),
			[undefined, 0, 1],
		);
	});
});

describe('a loop while accuracy rises', () => {
	const { stages } = pipelineOf([
		base,
		{ ...loop, times: 4, rising: 'measure' },
		{ ...grpo, name: 'rl', from: 'learn-4' },
	]);
	const of = (name: string) => stages.find((stage) => stage.name === name) as NamedStage;
	const state = (name: string, status: StageState['status'], accuracy: number | null = null): [string, StageState] => [
		name,
		{ ...freshState(of(name)), status, accuracy },
	];

	test('skips rounds from the third on if the previous round did not improve on the one before', () => {
		assert.equal(of('learn-2').skipIf, undefined);
		assert.deepEqual(of('learn-3').skipIf, { stage: 'measure-2', notAbove: 'measure-1' });
		assert.deepEqual(dependenciesOf(of('search-3')), ['value-2', 'measure-2', 'measure-1']);
		const rose = new Map([state('measure-1', 'finished', 0.5), state('measure-2', 'finished', 0.51)]);
		assert.equal(skipReason(of('learn-3'), rose), null);
		const fell = new Map([state('measure-1', 'finished', 0.5), state('measure-2', 'finished', 0.5)]);
		assert.match(skipReason(of('learn-3'), fell) ?? '', /measure-2 is 0\.500, not above 0\.500 for measure-1/);
		const over = new Map([state('measure-2', 'finished', 0.5), state('measure-3', 'skipped')]);
		assert.equal(skipReason(of('learn-4'), over), 'measure-3 was skipped');
	});

	test('connects subsequent stages to the last completed round', () => {
		const pipeline = pipelineOf([base, { ...loop, times: 4, rising: 'measure' }, of('rl')]);
		const start = startOf(pipeline, of('rl'), new Set(['learn-3', 'learn-4']));
		assert.deepEqual('input' in start && [start.input.stage, start.input.checkpoint], ['learn-2', 'last']);
	});

	test('requires its own evaluation stage and no other condition', () => {
		const message = (rising: string, more: object = {}) =>
			faultsOf([base, { ...loop, rising, stages: [exporting, learn, value, { ...measure, ...more }] }])[0]?.message ??
			'';
		assert.match(
			message('mesure'),
			/"rising" references the stage "mesure", but the loop has no such stage: did you mean "measure"\?/,
		);
		assert.match(message('search'), /which does not measure held-out accuracy/);
		const skipIf = { stage: 'base', heldOutAccuracy: 0.9 };
		assert.match(
			message('measure', { skipIf }),
			/skips its stages based on "rising", but this stage also has "skipIf"/,
		);
	});
});

describe('a loop is rejected', () => {
	const refused: [string, readonly object[], string, RegExp][] = [
		['with no rounds', [base, { ...loop, times: 0 }], 'stages[1].times', /1/],
		['with too many rounds', [base, { ...loop, times: 101 }], 'stages[1].times', /100/],
		['without stages', [base, { ...loop, stages: [] }], 'stages[1].stages', /needs at least one stage/],
		['inside another loop', [base, { ...loop, stages: [loop] }], 'stages[1].stages[0]', /must be a stage of type/],
		['with a misspelled key', [base, { ...loop, time: 3 }], 'stages[1].time', /is not a valid key/],
		[
			'if one of its stages references a numbered round',
			[base, { ...loop, stages: [exporting, { ...learn, from: 'learn-3' }] }],
			'stages[1].stages[0].from',
			/the loop "round" has no such stage: its stages are search, learn/,
		],
		[
			'if a later stage references a round that does not exist',
			[base, loop, { ...grpo, name: 'rl', from: 'learn-3' }],
			'stages[2].from',
			/references the stage "learn-3", which does not exist: did you mean "learn-[12]"\?/,
		],
		[
			'if a later stage references one of its stages without a round',
			[base, loop, { ...grpo, name: 'rl', from: 'learn' }],
			'stages[2].from',
			/references the stage "learn", which does not exist: did you mean "learn-2"\?/,
		],
		[
			'if "first" references a stage in the same loop',
			[base, { ...loop, stages: [{ ...search, from: { previous: 'learn', first: 'learn' } }, learn] }],
			'stages[1].stages[0].from',
			/"first" in "from" references "learn" in the same loop/,
		],
		[
			'with a cycle within a round',
			[base, { ...loop, stages: [{ ...exporting, from: 'value' }, learn, value, measure] }],
			'stages[1].stages[0].name',
			/in a cycle \(search-1 -> value-1 -> /,
		],
		[
			'with two stages of the same name',
			[base, { ...loop, stages: [exporting, learn, value, { ...measure, name: 'learn' }] }],
			'stages[1].stages[3].name',
			/Two stages are named "learn/,
		],
		[
			'if a stage in it has the name of a stage outside',
			[base, { ...loop, stages: [{ ...sft, name: 'base' }] }],
			'stages[1].stages[0].name',
			/Two stages are named "base"/,
		],
		[
			'if an expanded stage has the name of a stage outside',
			[base, loop, { ...grpo, name: 'learn-2', from: 'base' }],
			'stages[2].name',
			/Two stages are named "learn-2"/,
		],
		[
			'with an unnamed stage',
			[base, { ...loop, stages: [exporting, { ...learn, name: undefined }, measure] }],
			'stages[1].stages[1]',
			/Entry 2 in "stages" has no "name"/,
		],
		[
			'with a stage name that is not a valid folder name',
			[base, { ...loop, stages: [{ ...sft, name: 'a/b' }] }],
			'stages[1].stages[0].name',
			/is used as a folder name/,
		],
		[
			'if one of its stages sets "round"',
			[base, { ...loop, stages: [{ ...sft, name: 'a', round: { of: 'a', number: 3 } }] }],
			'stages[1].stages[0].round',
			/is set by the loop itself/,
		],
		[
			'if no stage has a name',
			[{ loop: 'x', times: 2, stages: [sft] }],
			'stages[0].loop',
			/Loops are supported only in pipelines/,
		],
		[
			'with a warm-up longer than its stage',
			[base, { ...loop, stages: [{ ...sft, name: 'a', warmup_steps: 9 }] }],
			'stages[1].stages[0].warmup_steps',
			/./,
		],
		[
			'and so is "previous" outside a loop',
			[base, { ...grpo, name: 'rl', from: { previous: 'base' } }],
			'stages[1].from',
			/the stage is not in a loop\. Reference a "stage"/,
		],
	];
	for (const [what, stages, path, message] of refused) {
		test(what, () => {
			const faults = faultsOf(stages);
			const own = faults.filter((fault) => fault.path === path);
			assert.equal(own.length, 1, JSON.stringify(faults));
			assert.match(own[0]?.message ?? '', message);
			assert.ok((own[0]?.line ?? 0) > 1, 'the error has a line');
		});
	}
});
