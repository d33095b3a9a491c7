import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

const trace = (id: string, task: object) => ({
	id,
	task,
	nodes: [
		{ message: { role: 'user', content: 'q' }, sampled: false },
		{ parent: 0, message: { role: 'assistant', content: 'a' }, sampled: true },
	],
	rewards: { right: { score: 1, weight: 1 } },
});
const episode = (id: string, task: object) => ({ id, task, traces: [trace(id, task)] });

describe('verifiers', () => {
	it('groups by task key, or else by task index, or else by prompt', async () => {
		const tasks = [{ key: 'a' }, { key: 'b' }, { key: 'a' }, { data: { idx: 7 } }, { data: { idx: 7 } }, {}, {}];
		const { run, train } = await madeRun({ 'traces.jsonl': tasks.map((task, i) => episode(`${i}`, task)) });
		assert.deepEqual(groupsIn(train), [0, 1, 0, 2, 2, 3, 3]);
		assert.equal(run.hasSteps, false);
		assert.deepEqual(new Set(train.map(({ step }) => step)), new Set([null]));
	});

	it('has no tokens if none are recorded, and gets the length from the calls', async () => {
		const one = {
			...trace('t', {}),
			calls: [{ usage: { completion_tokens: 5 } }, { usage: { completion_tokens: 7 } }],
		};
		const { train } = await madeRun({ 'traces.jsonl': [{ id: 'e', traces: [one] }] });
		assert.equal(train[0]?.tokens, undefined);
		assert.equal(train[0]?.extra?.length, 12);
	});

	it('reads single traces with the names and formats of earlier versions', async () => {
		const { train } = await madeRun({ 'results.jsonl': [trace('a', { key: 'k' }), trace('b', { key: 'k' })] });
		assert.deepEqual(groupsIn(train), [0, 0]);
	});

	it('reads a file truncated mid-line up to that point', async () => {
		const text = `${JSON.stringify(episode('a', {}))}\n${JSON.stringify(episode('b', {})).slice(0, 40)}`;
		const { train, faults } = await madeRun({ 'traces.jsonl': text });
		assert.equal(train.length, 1);
		assert.deepEqual(
			faults.map(({ line, records }) => [line, records]),
			[[2, 1]],
		);
	});
});

describe('verifiers before v1', () => {
	const row = (fields: object) => ({ example_id: 0, prompt: 'q', completion: 'a', reward: 1, metrics: {}, ...fields });
	const read = (rows: readonly unknown[]) => madeRun({ 'results.jsonl': rows, 'metadata.json': { model: 'm' } });

	it('groups by example, in whatever order the rollouts finished', async () => {
		const { train } = await read([3, 1, 3, 2, 1].map((example_id) => row({ example_id })));
		assert.deepEqual(groupsIn(train), [0, 1, 0, 2, 1]);
		assert.deepEqual(
			train.map(({ row }) => row),
			[3, 1, 3, 2, 1],
		);
	});

	it('shows a failed rollout with its error', async () => {
		const error = { error: 'ModelError', error_chain_repr: 'ModelError -> Timeout' };
		const { train, faults } = await read([row({ completion: null, reward: 0, error, stop_condition: null })]);
		assert.equal(train[0]?.completion, '');
		assert.equal(train[0]?.reward, 0);
		assert.equal(train[0]?.extra?.error, 'ModelError: ModelError -> Timeout');
		assert.deepEqual(faults, []);
	});

	it('reads reward function values from metrics only, ignoring duplicates at the top level', async () => {
		const { train } = await read([row({ metrics: { right: 1, style: null }, right: 1, style: null })]);
		assert.deepEqual(train[0]?.rewards, { right: 1, style: null });
	});

	it('continues after a malformed line', async () => {
		const text = `${JSON.stringify(row({}))}\n{"example_id": 0, "pro\n${JSON.stringify(row({}))}\n`;
		const { train, faults } = await madeRun({ 'results.jsonl': text });
		assert.equal(train.length, 2);
		assert.deepEqual(
			faults.map(({ line, message }) => [line, message]),
			[[2, 'invalid JSON']],
		);
	});

	it('has answers and info only if there are any', async () => {
		const { train } = await read([row({}), row({ answer: '5', info: { level: 2 }, is_truncated: true })]);
		assert.equal('answer' in (train[0] ?? {}), false);
		assert.equal(train[1]?.answer, '5');
		assert.deepEqual(train[1]?.extra, { info: { level: 2 } });
		assert.equal(train[1]?.truncated, true);
	});

	it('reports what it cannot read', async () => {
		const { faults } = await read([row({}), { prompt: 'q', reward: 1 }, { example_id: 1 }, row({ completion: 5 })]);
		assert.deepEqual(
			faults.map(({ message }) => message),
			['has no example_id', 'has no reward', 'has no completion'],
		);
	});
});
