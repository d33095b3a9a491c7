import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgesAnswer } from '../../../../src/core/diagnosis/rewardNames.ts';
import { correctness, judgingReward } from '../../../../src/core/reward/correctness.ts';

describe('rollout correctness', () => {
	it('is determined by a reward with a matching name, from any trainer', () => {
		assert.equal(judgingReward({ format: 1, accuracy: 0, correct: 1 }), 'accuracy');
		for (const name of ['correct', 'correct_answer', 'is_solved', 'accuracy_reward', 'acc', 'math_acc']) {
			assert.equal(judgingReward({ format: 1, [name]: 0 }), name);
			assert.ok(judgesAnswer(name), name);
		}
		for (const name of ['access', 'accept', 'vacc', 'format', 'length']) {
			assert.equal(judgingReward({ [name]: 1 }), null, name);
			assert.ok(!judgesAnswer(name), name);
		}
	});

	it('is not determined by a format reward or one that counts errors', () => {
		for (const name of ['format_correctness', 'correct_format', 'xml_correct', 'incorrect', 'inaccuracy', 'unsolved']) {
			assert.equal(judgingReward({ [name]: 1 }), null, name);
			assert.equal(judgingReward({ [name]: 1, correct: 0 }), 'correct', name);
			assert.ok(!judgesAnswer(name), name);
		}
	});

	it('means a value above 0.5, and is unknown without a value', () => {
		assert.equal(correctness({ acc: 1, format: 0 }), true);
		assert.equal(correctness({ acc: 0, format: 1 }), false);
		assert.equal(correctness({ acc: null }), null);
		assert.equal(correctness({ format: 1 }), null);
	});
});
