import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ForeignRollout } from '../../../../../src/runs/importers/foreignRecord.ts';
import { artRow } from '../../../../../src/runs/importers/formats/art.ts';
import { groupsIn, madeRun } from '../madeRun.ts';

const context = {
	file: 'trajectories/train/0003.parquet',
	parts: { split: 'train', step: '0003' },
	step: 3,
	record: 0,
};
const message = (role: string, content: string | null, fields: object = {}) => ({
	role,
	content,
	tool_calls: null,
	tool_call_id: null,
	trainable: role === 'assistant',
	...fields,
});
const row = (fields: object) => ({
	group_index: 0n,
	reward: 1,
	metrics: '{"correct": true, "num_turns": 1}',
	metadata: '{"scenario": "s"}',
	group_metadata: null,
	logs: null,
	messages: [message('user', 'q'), message('assistant', 'a')],
	...fields,
});

function rolloutOf(fields: object): ForeignRollout {
	const made = artRow(row(fields), context);
	assert.ok(typeof made !== 'string' && made[0] !== undefined);
	return made[0];
}

describe('ART', () => {
	it('parses columns with JSON text', () => {
		assert.deepEqual(rolloutOf({ group_metadata: '{"group": 1}' }).extra, {
			metrics: { num_turns: 1 },
			metadata: { group: 1, scenario: 's' },
		});
	});

	it('includes the metrics of a trajectory next to its reward', () => {
		assert.deepEqual(rolloutOf({}).rewards, { correct: 1 });
	});

	it('starts the completion at the first trained turn', () => {
		const messages = [
			message('user', 'example'),
			message('assistant', 'shown', { trainable: false }),
			message('user', 'q'),
			message('assistant', null, {
				tool_calls: '[{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]',
			}),
			message('tool', '4', { tool_call_id: 'c' }),
			message('assistant', 'done'),
		];
		const rollout = rolloutOf({ messages });
		assert.equal(rollout.prompt.length, 3);
		assert.deepEqual(rollout.completion, [
			{
				role: 'assistant',
				content: null,
				tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
			},
			{ role: 'tool', content: '4', tool_call_id: 'c' },
			{ role: 'assistant', content: 'done' },
		]);
	});

	it('creates no rollout for the row of a group without trajectories (version 2)', () => {
		assert.deepEqual(
			artRow(row({ format_version: 2, messages: null, reward: null, trajectory_index: null }), context),
			[],
		);
	});

	it('reads messages and truncation from the trajectory JSON (version 2)', () => {
		const trajectory_json = JSON.stringify({
			messages_and_choices: [
				{ role: 'user', content: 'q' },
				{ finish_reason: 'length', index: 0, message: { role: 'assistant', content: 'a' } },
			],
		});
		for (const messages of [null, row({}).messages]) {
			const rollout = rolloutOf({ messages, trajectory_json });
			assert.equal(rollout.truncated, true);
			assert.deepEqual(rollout.completion, [{ role: 'assistant', content: 'a' }]);
		}
	});

	it('reports what is wrong with a row', () => {
		assert.equal(artRow(row({ messages: null }), context), 'has no messages');
		assert.equal(artRow(row({ messages: [{ content: 'x' }] }), context), 'has a message without a role');
		assert.equal(artRow(row({ group_index: null }), context), 'has no group_index');
		assert.equal(artRow('x', context), 'is not an object');
		assert.equal(rolloutOf({ metrics: '{"a": ', metadata: 'x' }).extra, undefined);
	});

	const choice = { finish_reason: 'stop', index: 0, message: { role: 'assistant', content: 'a' } };
	const group = (reward: number | null, count = 2) => ({
		metadata: { scenario: 1 },
		trajectories: Array.from({ length: count }, () => ({
			reward,
			metrics: {},
			metadata: {},
			logs: [],
			messages_and_choices: [{ role: 'user', content: 'q' }, choice],
		})),
	});

	it('reads groups from JSON Lines as written by older versions', async () => {
		const { train, validation } = await madeRun({
			'trajectories/train/0003.jsonl': [group(1), group(null)],
			'trajectories/val/0003.jsonl': [group(0, 1)],
			'trajectories/test/0003.jsonl': [group(0.5, 1)],
		});
		assert.deepEqual(groupsIn(train), [0, 0, 1, 1]);
		assert.deepEqual(
			train.map(({ reward }) => reward),
			[1, 1, null, null],
		);
		assert.deepEqual(
			validation.map(({ stage, group }) => [stage, group]),
			[
				['test', 0],
				['val', 1],
			],
		);
	});

	it('counts a step once if it exists in two formats', async () => {
		const yaml = 'not: what counts\n';
		const { train, faults } = await madeRun({
			'trajectories/train/0003.jsonl': [group(1)],
			'trajectories/train/0003.yaml': yaml,
		});
		assert.equal(train.length, 2);
		assert.deepEqual(faults, []);
	});

	it('merges history rows by step, whatever their split', async () => {
		const { metrics } = await madeRun({
			'trajectories/train/0000.jsonl': [group(1)],
			'history.jsonl': [
				{ 'train/reward': 0.25, step: 0, recorded_at: '2026-08-20T09:00:41.001234' },
				{ 'train/loss': -0.5, step: 0, recorded_at: '2026-08-20T09:01:22.002468' },
				{ 'val/reward': 0.75, step: 0, recorded_at: 'yesterday' },
			],
		});
		assert.equal(metrics.length, 1);
		assert.deepEqual(metrics[0]?.values, { reward: 0.25, loss: -0.5, 'eval/val/reward': 0.75 });
	});
});
