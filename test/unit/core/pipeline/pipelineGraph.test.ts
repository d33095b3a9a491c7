import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalJson } from '../../../../src/core/pipeline/canonicalJson.ts';
import { compileStage, startOf } from '../../../../src/core/pipeline/compileStage.ts';
import { behind, dependenciesOf, orderStages } from '../../../../src/core/pipeline/pipelineGraph.ts';
import { artifactsOf, planStage, skipReason, waitReason } from '../../../../src/core/pipeline/planStage.ts';
import { resolveRecipe } from '../../../../src/core/recipe/resolve.ts';
import type { StageState } from '../../../../src/protocol/pipeline.ts';
import type { NamedStage } from '../../../../src/protocol/recipeKeys/pipelineRecipe.ts';
import { grpo, pipelineOf, sft } from './pipelineRecipes.ts';

const story = pipelineOf([
	{ ...grpo, name: 'rl', from: { stage: 'cold', checkpoint: 'best' }, seed: 9, evaluate: { problems: 8 } },
	{ name: 'solve', type: 'search', from: 'rl', export: ['completions', 'labels'] },
	{ ...sft, name: 'cold' },
	{
		name: 'head',
		type: 'value-model',
		from: 'rl',
		labels: { stage: 'solve', heldOutShare: 0.2 },
		steps: 2,
		learning_rate: 0.1,
	},
	{ ...grpo, name: 'more', from: 'rl', skipIf: { stage: 'rl', heldOutAccuracy: 0.9 } },
	{ ...grpo, name: 'last', from: 'more', dataset: { task: 'string' } },
]);
const stage = (name: string) => story.stages.find((one) => one.name === name) as NamedStage;

function state(name: string, more: Partial<StageState> = {}): StageState {
	const { type } = stage(name);
	const after = dependenciesOf(stage(name));
	const nothing = { inputHash: null, outputs: [], started: null, ended: null, attempt: null, accuracy: null };
	return { name, type, status: 'waiting', after, ...nothing, ...more };
}
const byName = (...states: StageState[]) => new Map(states.map((one) => [one.name, one]));
const hash = (letter: string) => letter.repeat(64);

describe('pipeline graph', () => {
	test('each stage comes after its dependencies, and otherwise in recipe order', () => {
		const ordered = orderStages(story.stages);
		assert.ok(ordered.ok);
		assert.deepEqual(
			ordered.stages.map(({ name }) => name),
			['cold', 'rl', 'solve', 'head', 'more', 'last'],
		);
	});

	test('dependencies', () => {
		assert.deepEqual(dependenciesOf(stage('head')), ['rl', 'solve']);
		assert.deepEqual(dependenciesOf(stage('more')), ['rl']);
		assert.deepEqual([...behind(story.stages, 'solve')], ['head']);
		assert.deepEqual([...behind(story.stages, 'cold')].toSorted(), ['head', 'last', 'more', 'rl', 'solve']);
	});
});

describe('compiling', () => {
	const machine = { cores: 2, resolvePath: (path: string) => path };
	const cold = state('cold', {
		status: 'finished',
		outputs: [
			{ kind: 'last-checkpoint', path: 'checkpoints/step_000004', sha256: hash('a'), bytes: 1 },
			{ kind: 'best-checkpoint', path: 'checkpoints/step_000002', sha256: hash('b'), bytes: 1 },
		],
	});
	const pathOf = (name: string, output: string) => `/runs/story/${name}/${output}`;

	test('a stage becomes a recipe that engines can read', () => {
		const artifacts = artifactsOf(story, stage('rl'), byName(cold), pathOf);
		const recipe = compileStage(story, stage('rl'), artifacts);
		assert.equal(recipe.name, 'story-rl');
		assert.equal(recipe.seed, 9);
		assert.deepEqual(recipe.model, { path: '/runs/story/cold/checkpoints/step_000002' });
		assert.deepEqual(recipe.evaluate, { problems: 8 });
		assert.deepEqual(recipe.stages, [grpo]);
		assert.deepEqual(resolveRecipe(recipe, machine).model, { path: '/runs/story/cold/checkpoints/step_000002' });
	});

	test('without "from", a stage uses the recipe model; differing settings take precedence', () => {
		const recipe = compileStage(story, stage('cold'), artifactsOf(story, stage('cold'), byName(), pathOf));
		assert.deepEqual([recipe.model, recipe.seed], [story.model, 3]);
		const last = compileStage(
			story,
			stage('last'),
			artifactsOf(
				story,
				stage('last'),
				byName(state('more', { status: 'skipped' }), state('rl', { outputs: cold.outputs })),
				pathOf,
			),
		);
		assert.deepEqual(last.dataset, { task: 'string' });
		// "more" was skipped, so stages that start from it use its starting point.
		assert.deepEqual(last.model, { path: '/runs/story/rl/checkpoints/step_000004' });
	});

	test("another stage's data becomes a path, next to its related keys", () => {
		const solve = state('solve', {
			outputs: [{ kind: 'labels', path: 'data/labels.jsonl', sha256: hash('c'), bytes: 1 }],
		});
		const rl = state('rl', { outputs: cold.outputs });
		const recipe = compileStage(story, stage('head'), artifactsOf(story, stage('head'), byName(rl, solve), pathOf));
		assert.deepEqual((recipe.stages[0] as { labels?: unknown }).labels, {
			path: '/runs/story/solve/data/labels.jsonl',
			heldOutShare: 0.2,
		});
	});

	test('reward models and mixed-in files become paths in their lists', () => {
		const pipeline = pipelineOf([
			{ ...sft, name: 'cold' },
			{ type: 'search', name: 'solve', from: 'cold' },
			{ type: 'reward-model', name: 'judge', from: 'cold', pairs: { path: 'p.jsonl' }, steps: 2, learning_rate: 0.1 },
			{
				type: 'rejection-sampling',
				name: 'keep',
				from: 'cold',
				rewards: [{ use: 'accuracy' }, { use: 'reward-model', stage: 'judge', checkpoint: 'best', weight: 2 }],
				extra: [{ path: 'x.jsonl' }, { stage: 'solve', share: 0.5 }],
			},
		]);
		const keep = pipeline.stages[3] as NamedStage;
		assert.deepEqual(dependenciesOf(keep), ['cold', 'solve', 'judge']);
		const { outputs } = cold;
		const completions = { kind: 'completions', path: 'data/completions.jsonl', sha256: hash('d'), bytes: 1 } as const;
		const states = byName(cold, state('solve', { outputs: [completions] }), { ...cold, name: 'judge', outputs });
		const recipe = compileStage(pipeline, keep, artifactsOf(pipeline, keep, states, pathOf));
		const best = '/runs/story/judge/checkpoints/step_000002';
		assert.deepEqual(recipe.rewards, [
			{ use: 'accuracy' },
			{ use: 'reward-model', path: best, activation: 'none', weight: 2 },
		]);
		assert.deepEqual((recipe.stages[0] as { extra?: unknown }).extra, [
			{ path: 'x.jsonl' },
			{ path: '/runs/story/solve/data/completions.jsonl', share: 0.5 },
		]);
		assert.equal(resolveRecipe(recipe, machine).rewards.length, 2);
	});

	test('missing outputs are reported', () => {
		const states = byName(state('rl', { outputs: cold.outputs }), state('solve'));
		assert.throws(() => artifactsOf(story, stage('head'), states, pathOf), {
			reason: 'missing',
			message: /"labels" in the stage "head" gets its input from "solve", which produces no labels/,
		});
	});

	test('a skipped first stage passes on the recipe model', () => {
		assert.deepEqual(startOf(story, stage('rl'), new Set(['cold'])), { model: story.model });
	});
});

describe('action for a stage', () => {
	const finished = state('cold', { status: 'finished', inputHash: hash('a') });
	const failed = state('cold', { status: 'failed', inputHash: hash('a') });
	test('depends on its state, its run and its inputs', () => {
		assert.equal(planStage(undefined, 'none', hash('a')), 'begin');
		assert.equal(planStage(finished, 'finished', hash('a')), 'keep');
		assert.equal(planStage(finished, 'finished', hash('b')), 'again');
		assert.equal(planStage(failed, 'resumable', hash('a')), 'resume');
		assert.equal(planStage(failed, 'resumable', hash('b')), 'again');
		assert.equal(planStage(failed, 'finished', hash('a')), 'again');
		assert.equal(planStage(failed, 'none', hash('b')), 'begin');
		const running = { ...failed, status: 'running' as const };
		assert.equal(planStage(running, 'live', hash('a')), 'follow');
		assert.equal(planStage(running, 'finished', hash('a')), 'take');
		assert.equal(planStage(running, 'none', hash('a')), 'begin');
		assert.equal(planStage(undefined, 'resumable', hash('a')), 'again');
	});

	test('is to skip the stage once the accuracy in its condition is reached', () => {
		const rl = (accuracy: number | null) => byName(state('rl', { status: 'finished', accuracy }));
		assert.equal(skipReason(stage('more'), rl(0.89)), null);
		assert.equal(skipReason(stage('more'), rl(null)), null);
		assert.match(skipReason(stage('more'), rl(0.9)) ?? '', /held-out accuracy of rl is 0\.900, which is at least 0\.9/);
		assert.match(
			skipReason(stage('head'), byName(state('solve', { status: 'skipped' }))) ?? '',
			/its input "labels" comes from solve, which was skipped/,
		);
	});

	test('is to wait until the inputs are finished, with a reason', () => {
		assert.equal(waitReason(state('cold'), byName()), null);
		assert.equal(waitReason(state('head'), byName(state('rl'), state('solve'))), 'waiting for rl and solve');
		assert.equal(
			waitReason(state('head'), byName(state('rl', { status: 'finished' }), state('solve', { status: 'failed' }))),
			'waiting for solve, which has failed',
		);
	});
});

test('canonical JSON does not depend on key order', () => {
	assert.equal(canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined }), '{"b":[1,{"c":"x","d":null}]}');
	assert.equal(canonicalJson({ x: 1, y: 2 }), canonicalJson({ y: 2, x: 1 }));
	assert.notEqual(canonicalJson({ x: 1 }), canonicalJson({ x: '1' }));
});
