import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	type Candidate,
	dropReason,
	extraRows,
	type KeepSettings,
	keepTogether,
} from '../../../../src/core/rejection/keepCompletions.ts';

const keep: KeepSettings = {
	correct: true,
	minReward: null,
	language: null,
	minTokens: null,
	maxTokens: null,
	perProblem: null,
	duplicates: 'drop',
};
const good: Candidate = {
	completion: '<think>so the sum is three</think><answer>3</answer>',
	truncated: false,
	correct: true,
	reward: 1,
	length: 20,
	answer: '3',
	row: {},
};
const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;
const why = (candidate: Partial<Candidate>, settings: Partial<KeepSettings> = {}) =>
	dropReason({ ...good, ...candidate }, { ...keep, ...settings }, tags);

test('a completion is dropped for the first applicable reason', () => {
	assert.equal(why({}), null);
	assert.equal(why({ truncated: true, correct: false }), 'truncated');
	assert.equal(why({ correct: false }, { minReward: 2 }), 'incorrect');
	assert.equal(why({ correct: null }), 'incorrect');
	assert.equal(why({ correct: false }, { correct: false }), null);
	assert.equal(why({}, { minReward: 1 }), null);
	assert.equal(why({}, { minReward: 1.1 }), 'unrewarded');
	assert.equal(why({ reward: null }, { minReward: 0 }), 'unrewarded');
	assert.equal(why({}, { minTokens: 21 }), 'short');
	assert.equal(why({}, { minTokens: 20, maxTokens: 20 }), null);
	assert.equal(why({ completion: '', length: 1 }), 'short');
	assert.equal(why({}, { maxTokens: 19 }), 'long');
	const mixed = { completion: '<think>so the sum будет три</think><answer>3</answer>' };
	const english = (minShare: number) => ({ language: { language: 'en', minShare } }) as const;
	assert.equal(why({}, english(1)), null);
	assert.equal(why(mixed, english(0.9)), 'language');
	// Three of five words.
	assert.equal(why(mixed, english(0.6)), null);
	assert.equal(why({ completion: '<think>1+2=3</think><answer>3</answer>' }, english(1)), null);
});

test('each problem keeps the first of its duplicates, then its best completions, in their original order', () => {
	const line = (prompt: string, completion: string, reward: number | null) => ({ prompt, completion, reward });
	const lines = [
		line('a', 'one', 0.2),
		line('a', ' one\n', 1),
		line('b', 'one', null),
		line('a', 'two', 0.5),
		line('a', 'three', 0.5),
		line('a', 'four', 0.9),
	];
	const completions = (settings: Partial<KeepSettings>) => {
		const { kept, dropped } = keepTogether(lines, { ...keep, ...settings });
		return [kept.map(({ prompt, completion }) => prompt + completion), dropped.duplicate, dropped.surplus];
	};
	assert.deepEqual(completions({}), [['aone', 'bone', 'atwo', 'athree', 'afour'], 1, 0]);
	assert.deepEqual(completions({ perProblem: 2 }), [['bone', 'atwo', 'afour'], 1, 2]);
	assert.deepEqual(completions({ duplicates: 'keep', perProblem: 1 }), [['a one\n', 'bone'], 0, 4]);
});

test('mixed-in rows make up their share of the total', () => {
	assert.equal(extraRows(600, 1000, 0.25), 200);
	assert.equal(extraRows(600, 150, 0.25), 150);
	assert.equal(extraRows(600, 1000, 0), 0);
	assert.equal(extraRows(600, 1000, null), 1000);
});
