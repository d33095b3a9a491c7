import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stageGraph } from '../../../../src/core/pipeline/stageGraph.ts';
import type { GraphStage } from '../../../../src/protocol/pipelineGraphMessages.ts';

const stage = (name: string, after: string[], changes: Partial<GraphStage> = {}): GraphStage => ({
	...{ name, type: 'grpo', status: 'finished', round: null, after, done: 1, total: 1 },
	...{ accuracy: null, seconds: 10, device: null, tokens: 100, costs: [], why: null, opens: true, ...changes },
});

test('stages are to the right of their dependencies, without overlap, with the gain over the previous stage', () => {
	const nodes = stageGraph(
		[
			stage('cold', [], { accuracy: 0.25 }),
			stage('rl', ['cold'], { accuracy: 0.5 }),
			stage('zero', [], { accuracy: 0.1 }),
			stage('search', ['rl']),
			stage('student', ['cold', 'search'], { accuracy: 0.2 }),
			stage('lost', ['nowhere']),
		],
		true,
	);
	assert.deepEqual(
		nodes.map(({ name, level, lane }) => [name, level, lane]),
		[
			['cold', 0, 0],
			['rl', 1, 0],
			['zero', 0, 1],
			['search', 2, 0],
			['student', 3, 0],
			['lost', 0, 2],
		],
	);
	assert.equal(new Set(nodes.map(({ level, lane }) => `${level} ${lane}`)).size, nodes.length);
	const gains = new Map(nodes.map(({ name, gain }) => [name, gain]));
	assert.deepEqual([gains.get('rl'), gains.get('search'), gains.get('cold')], [0.25, null, null]);
	assert.ok(
		Math.abs((gains.get('student') ?? 0) + 0.05) < 1e-9,
		'compared with the first dependency that has an accuracy',
	);
	assert.deepEqual(nodes.at(-1)?.after, []);
	assert.deepEqual(stageGraph([], true), []);
});

const price = { amount: 0.25, currency: 'USD' };

test('the rounds of a loop are folded into one node per stage, or shown separately', () => {
	const rounds = [1, 2, 3].flatMap((number) => [
		stage(`train-${number}`, [number === 1 ? 'cold' : `search-${number - 1}`], {
			round: { of: 'train', number },
			status: number === 3 ? 'running' : 'finished',
			accuracy: number === 3 ? null : number / 10,
		}),
		stage(`search-${number}`, [`train-${number}`], {
			round: { of: 'search', number },
			...(number === 3 ? { status: 'waiting', seconds: null, opens: false, done: null } : {}),
		}),
	]);
	const stages = [stage('cold', [], { accuracy: 0.05 }), ...rounds];
	const folded = stageGraph(stages, true);
	assert.deepEqual(
		folded.map(({ name, level, after, status, opened, rounds: all }) => [name, level, after, status, opened, all]),
		[
			['cold', 0, [], 'finished', 'cold', null],
			['train', 1, ['cold'], 'running', 'train-3', { done: 2, total: 3 }],
			['search', 2, ['train'], 'waiting', 'search-2', { done: 2, total: 3 }],
		],
	);
	const [, train] = folded;
	assert.deepEqual([train?.accuracy, train?.seconds, train?.tokens], [0.2, 30, 300]);
	const [, known, unknown] = stageGraph(
		stages.map((one) => (one.name === 'search-1' ? { ...one, tokens: null } : { ...one, costs: [price] })),
		true,
	);
	assert.deepEqual(known?.costs, [{ amount: 0.75, currency: 'USD' }]);
	assert.deepEqual([unknown?.tokens, unknown?.costs], [null, [price]], 'a round that has not started costs nothing');
	assert.equal(stageGraph(stages, false).length, 7);
});
