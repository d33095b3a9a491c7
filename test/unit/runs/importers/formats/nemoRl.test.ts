import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

/** A row as logged, with token arrays padded to the longest in the batch. */
const row = (fields: object) => ({
	content: [['prompt', 'answer']],
	rewards: [1],
	input_lengths: [5],
	token_ids: [[1, 2, 3, 4, 5, 0, 0]],
	token_loss_mask: [[0, 0, 1, 1, 1, 0, 0]],
	sample_loss_mask: [1],
	advantages: [[0, 0, 0.5, 0.5, 0.5, 0, 0]],
	generation_logprobs: [[0, 0, -1, -2, -3, 0, 0]],
	prev_logprobs: [[0, 0, -1.5, -2.5, -3.5, 0, 0]],
	idx: 0,
	...fields,
});
const read = (...rows: object[]) => madeRun({ 'train_data_step1.jsonl': rows });

describe('NeMo-RL', () => {
	it('uses only the completion tokens, without prompt and padding', async () => {
		const { train } = await read(row({}));
		assert.deepEqual(train[0]?.tokens, {
			text: ['#3', '#4', '#5'],
			logprob: [-1, -2, -3],
			oldLogprob: [-1.5, -2.5, -3.5],
			advantage: [0.5, 0.5, 0.5],
		});
		assert.equal(train[0]?.advantage, 0.5);
		assert.equal(train[0]?.prompt, 'prompt');
		assert.equal(train[0]?.completion, 'answer');
	});

	it('ignores a mask beyond the length of a row', async () => {
		const { train } = await read(row({ token_loss_mask: [[0, 0, 1, 1, 1, 1, 1]] }));
		assert.equal(train[0]?.tokens?.text.length, 3);
	});

	it('sets no rollout advantage if the token advantages differ', async () => {
		const { train } = await read(row({ advantages: [[0, 0, 0.5, 0.25, 0.5, 0, 0]] }));
		assert.equal(train[0]?.advantage, null);
		assert.deepEqual(train[0]?.tokens?.advantage, [0.5, 0.25, 0.5]);
	});

	it('finds the model turns from the loss mask', async () => {
		const three = row({ content: [['system ', 'question', 'answer']] });
		const turns = row({
			content: [['question', 'call', 'result', 'answer']],
			token_loss_mask: [[0, 1, 0, 1, 1, 0, 0]],
		});
		const unanswered = row({ content: [['question', 'call', 'result']], token_loss_mask: [[0, 1, 1, 0, 0, 0, 0]] });
		const { train } = await read(three, turns, unanswered);
		assert.deepEqual([train[0]?.prompt, train[0]?.completion], ['system question', 'answer']);
		assert.deepEqual(train[1]?.completion, [
			{ role: 'assistant', content: 'call' },
			{ role: 'environment', content: 'result' },
			{ role: 'assistant', content: 'answer' },
		]);
		assert.equal(train[1]?.prompt, 'question');
		assert.deepEqual(train[1]?.tokens?.text, ['#2', '#4', '#5']);
		assert.equal(train[2]?.prompt, 'question');
		assert.equal(train[2]?.completion.length, 2);
	});

	it('infers groups of equal size from consecutive identical prompts', async () => {
		const rows = ['a', 'a', 'b', 'b', 'b', 'b', 'c', 'c'].map((prompt, idx) => row({ content: [[prompt, 'x']], idx }));
		const { train } = await read(...rows);
		// The four rows of b are two groups of two: the prompt was drawn twice.
		assert.deepEqual(groupsIn(train), [0, 0, 1, 1, 2, 2, 3, 3]);
	});

	it('uses the rewards of the rows kept by dynamic sampling', async () => {
		const { train } = await read(row({ rewards: [0], filtered_rewards: [1] }));
		assert.equal(train[0]?.reward, 1);
	});

	it('reads NaN as a missing reward, and marks rows that were not trained on', async () => {
		const text = JSON.stringify(row({ sample_loss_mask: [0] })).replace('"rewards":[1]', '"rewards": [NaN]');
		const { train } = await madeRun({ 'train_data_step7.jsonl': `${text}\n` });
		assert.equal(train[0]?.reward, null);
		assert.deepEqual(train[0]?.extra, { trained: false });
		assert.equal(train[0]?.step, 7);
	});

	it('reads validation, whose messages have roles', async () => {
		const messages = [
			{ role: 'system', content: 's' },
			{ role: 'user', content: 'q' },
			{ role: 'assistant', content: 'a' },
			{ role: 'environment', content: 'right' },
		];
		const { validation } = await madeRun({ 'val_data_step3.jsonl': [{ content: [messages], rewards: [0.5], idx: 0 }] });
		assert.deepEqual(validation[0]?.prompt, messages.slice(0, 2));
		assert.deepEqual(validation[0]?.completion, messages.slice(2));
		assert.equal(validation[0]?.reward, 0.5);
	});

	it('reports what it cannot read', async () => {
		const { train, faults } = await read(
			row({}),
			{ rewards: [1] },
			{ content: [['a', 'b']] },
			row({ content: [[1, 2]] }),
		);
		assert.equal(train.length, 1);
		assert.deepEqual(
			faults.map(({ message }) => message),
			['has no content', 'has no rewards', 'has content that is not text'],
		);
	});
});
