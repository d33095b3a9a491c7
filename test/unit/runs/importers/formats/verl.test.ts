import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

const row = (fields: object) => ({ input: 'p', output: 'o', gts: '1', score: 1, step: 1, ...fields });

describe('verl', () => {
	it('groups by identical input, regardless of row order', async () => {
		const rows = ['a', 'b', 'a', 'c', 'b', 'a'].map((input) => row({ input }));
		const { train } = await madeRun({ 'rollouts/1.jsonl': rows });
		assert.deepEqual(groupsIn(train), [0, 1, 0, 2, 1, 0]);
		assert.deepEqual(
			train.map(({ index }) => index),
			[0, 0, 1, 0, 1, 2],
		);
	});

	it('puts the same input at different steps in different groups', async () => {
		const { train } = await madeRun({ 'rollouts/1.jsonl': [row({})], 'rollouts/2.jsonl': [row({ step: 2 })] });
		assert.deepEqual(
			train.map(({ step, group }) => [step, group]),
			[
				[1, 0],
				[2, 0],
			],
		);
	});

	it('sorts files by number rather than name', async () => {
		const files = Object.fromEntries([10, 2, 1, 100].map((step) => [`rollouts/${step}.jsonl`, [row({ step })]]));
		const { train } = await madeRun(files);
		assert.deepEqual(
			train.map(({ step }) => step),
			[1, 2, 10, 100],
		);
	});

	it('splits lines only at \\n', async () => {
		const output = 'a\u2028b\u2029c\u0085d';
		const { train, faults } = await madeRun({ '1.jsonl': `${JSON.stringify(row({ output }))}\n` });
		assert.equal(train[0]?.completion, output);
		assert.deepEqual(faults, []);
	});

	it('reads bare NaN as a missing reward', async () => {
		const text = '{"input": "p NaN", "output": "o", "gts": null, "score": NaN, "step": 1, "acc": NaN, "fmt": 1}\n';
		const { train } = await madeRun({ '1.jsonl': text });
		assert.equal(train[0]?.reward, null);
		assert.equal(train[0]?.prompt, 'p NaN');
		assert.deepEqual(train[0]?.rewards, { acc: null, fmt: 1 });
	});

	it('keeps the results of the reward function: numbers and booleans as rewards, the rest as extra data', async () => {
		const fields = { acc: true, format: 0.5, pred: '15', detail: { why: 'x' }, missing: null };
		const { train } = await madeRun({ '1.jsonl': [row(fields), row({ gts: { target: 5 } }), row({ gts: null })] });
		assert.deepEqual(train[0]?.rewards, { acc: 1, format: 0.5, missing: null });
		assert.deepEqual(train[0]?.extra, { pred: '15', detail: { why: 'x' } });
		assert.deepEqual(train[1]?.answer, { target: 5 });
		assert.equal('answer' in (train[2] ?? {}), false);
	});

	it('distinguishes validation from training by folder, not by rows', async () => {
		const { train, validation } = await madeRun({
			'rollouts/1.jsonl': [row({})],
			'val_dump/1.jsonl': [row({ reward: 1 })],
			'my_validation_data/2.jsonl': [row({ reward: 1 })],
		});
		assert.equal(train.length, 1);
		assert.deepEqual(
			validation.map(({ step, stage, rewards }) => [step, stage, rewards]),
			[
				[1, 'validation', {}],
				[2, 'validation', {}],
			],
		);
	});

	it('reports what it cannot read, and continues', async () => {
		const lines = [
			row({}),
			{ output: 'o', score: 1 },
			{ input: 'p', score: 1 },
			{ input: 'p', output: 'o' },
			7,
			row({}),
		];
		const { train, faults } = await madeRun({ '1.jsonl': lines });
		assert.equal(train.length, 2);
		assert.deepEqual(
			faults.map(({ file, line, message }) => [file, line, message]),
			[
				['1.jsonl', 2, 'has no input'],
				['1.jsonl', 3, 'has no output'],
				['1.jsonl', 4, 'has no score'],
				['1.jsonl', 5, 'is not an object'],
			],
		);
	});

	it('reads the rows of the file logger, in which step 0 contains only validation', async () => {
		const { metrics } = await madeRun({
			'1.jsonl': [row({})],
			'metrics/exp.jsonl': [
				{ step: 0, data: { 'val-core/gsm8k/acc/mean@4': 0.125 } },
				{ step: 1, data: { 'critic/score/mean': 0.5, 'actor/grad_norm': null, 'my/own': 3, note: 'text' } },
			],
		});
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values]),
			[
				[0, { 'eval/gsm8k/accuracy': 0.125 }],
				[1, { reward: 0.5, 'my/own': 3 }],
			],
		);
	});
});
