import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { majorityRewards } from '../../../../src/core/reward/majorityReward.ts';
import { r1, sample, untagged, worked } from './rewardSamples.ts';

const group = (prompt: string, ...answers: (string | null)[]) =>
	answers.map((answer) => sample(answer === null ? '<think>endless' : worked('', answer), { prompt }));

describe('majority reward', () => {
	test('is 1 for the most frequent answer of each prompt', () => {
		const samples = [...group('a', '7', '8', '7'), ...group('b', '8', '8', '7', null)];
		assert.deepEqual(majorityRewards(samples, r1), [1, 0, 1, 1, 1, 0, 0]);
		// Completions of one prompt need not be next to each other.
		const mixed = [samples[0], samples[3], samples[1], samples[4], samples[2]].map((one) => one as never);
		assert.deepEqual(majorityRewards(mixed, r1), [1, 1, 0, 1, 1]);
	});

	test('compares answers after normalization', () => {
		assert.deepEqual(majorityRewards(group('a', '1,000', ' 1000.0 ', '+1000', '7'), r1), [1, 1, 1, 0]);
	});

	test('ignores completions without exactly one answer, even if they are most of the group', () => {
		const samples = [
			...group('a', null, null, null, '7'),
			sample('<answer>1</answer><answer>1</answer>', { prompt: 'a' }),
		];
		assert.deepEqual(majorityRewards(samples, r1), [0, 0, 0, 1, 0]);
		assert.deepEqual(majorityRewards(group('a', null, '', ' '), r1), [0, 0, 0]);
	});

	test('gives a tie to the answer that occurs first', () => {
		assert.deepEqual(majorityRewards(group('a', '7', '8', '8', '7'), r1), [1, 0, 0, 1]);
	});

	test('is null for a single completion, and does not look at the gold answer', () => {
		assert.deepEqual(majorityRewards(group('a', '7'), r1), [null]);
		assert.deepEqual(majorityRewards([], r1), []);
		const wrong = group('a', '8', '8', '7').map((one) => ({ ...one, answer: '7' }));
		assert.deepEqual(majorityRewards(wrong, r1), [1, 1, 0]);
	});

	test('works without tags', () => {
		const samples = ['7', '7', '9'].map((text) => sample(text, {}, untagged));
		assert.deepEqual(majorityRewards(samples, untagged), [1, 1, 0]);
	});

	test('agrees with counting, for random votes', () => {
		for (let seed = 1; seed <= 200; seed++) {
			const random = Random.of('votes', seed);
			const answers = Array.from({ length: 2 + random.int(12) }, () => `${random.int(4)}`);
			const counts = answers.map((answer) => answers.filter((other) => other === answer).length);
			const winner = answers[counts.indexOf(Math.max(...counts))];
			assert.deepEqual(
				majorityRewards(group('a', ...answers), r1),
				answers.map((answer) => (answer === winner ? 1 : 0)),
			);
		}
	});
});
