import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { classificationReward } from '../../../../src/core/reward/classificationReward.ts';
import { iouReward } from '../../../../src/core/reward/iouReward.ts';
import { r1, sample, worked } from './rewardSamples.ts';

const near = (value: number | null, expected: number) =>
	assert.ok(value !== null && Math.abs(value - expected) < 1e-12, `${value} is not ${expected}`);

describe('iou', () => {
	const gold = [
		[0, 0, 10, 10],
		[20, 0, 30, 10],
	];
	const value = (answer: string, measure: 'iou' | 'confidence' = 'iou', boxes: unknown = gold) =>
		iouReward(sample(worked('I look.', answer), { row: { boxes } }), { column: 'boxes', threshold: 0.5, measure }, r1);
	const said = (...boxes: [number[], number][]) =>
		JSON.stringify(boxes.map(([Position, Confidence]) => ({ Position, Confidence }))).replaceAll('"', "'");

	test('matches the values of Visual-RFT', () => {
		const two = said([[0, 0, 10, 8], 0.9], [[20, 0, 30, 10], 0.6]);
		near(value(two), (0.8 + 1) / 2);
		near(value(two, 'confidence'), (0.9 + 0.6) / 2);
		const missed = said([[0, 0, 10, 8], 0.9], [[50, 50, 60, 60], 0.7], [[70, 70, 80, 80], 0.2]);
		near(value(missed), 0.8 / 3);
		near(value(missed, 'confidence'), (0.9 + 0.3 + 0.8) / 3);
	});

	test('is divided by the number of gold boxes if the answer has fewer', () => {
		near(value(said([[0, 0, 10, 10], 1])), 1 / 2);
		near(value(said([[0, 0, 10, 10], 1]), 'confidence'), 1);
	});

	test('is 0 for boxes that cannot be read, and for confidence that is missing', () => {
		for (const answer of ['', 'dog', 'No Objects', '[1, 2, 3]', said([[0, 0, 10, 10], 7])]) {
			assert.equal(value(answer), 0, answer);
			assert.equal(value(answer, 'confidence'), 0, answer);
		}
		assert.equal(value('[0, 0, 10, 10]', 'confidence'), 0);
		near(value('[0, 0, 10, 10]'), 1 / 2);
	});

	test('is 1 if there is nothing to find and the answer says so', () => {
		for (const measure of ['iou', 'confidence'] as const) {
			assert.equal(value('No Objects', measure, 'No Objects'), 1);
			assert.equal(value('[]', measure, []), 1);
		}
		assert.equal(value('[0, 0, 10, 10]', 'iou', []), 0);
	});

	test('is null without readable gold boxes', () => {
		for (const boxes of [null, '7', 7, [[1, 1, 1, 1]], {}]) {
			assert.equal(value('[0, 0, 10, 10]', 'iou', boxes), null);
		}
		const row = sample(worked('', '[0, 0, 10, 10]'), { answer: '[0, 0, 10, 10]' });
		assert.equal(iouReward(row, { threshold: 0.5, measure: 'iou' }, r1), 1);
		assert.equal(iouReward(row, { column: 'toString', threshold: 0.5, measure: 'iou' }, r1), null);
	});
});

describe('classification', () => {
	const value = (answer: string, gold: unknown = 'Airbus_A320') =>
		classificationReward(sample(worked('', answer), { answer: gold }), {}, r1);

	test('compares whole class names, ignoring case and punctuation', () => {
		for (const answer of ['Airbus A320', 'airbus_a-320', ' AIRBUS A320. ', '**Airbus A320**', '\\boxed{Airbus A320}']) {
			assert.equal(value(answer), 1, answer);
		}
		// Visual-RFT's code accepts substrings in both directions, including the empty answer.
		for (const answer of ['', 'A320', 'Airbus A320 or Boeing 737', 'Airbus A321', 'a'.repeat(1000)]) {
			assert.equal(value(answer), 0, answer);
		}
	});

	test('accepts any name in a list, and is null without a class', () => {
		assert.equal(value('tabby', ['Tabby', 'tabby cat']), 1);
		for (const gold of [null, '', ' ', '-', {}, []]) assert.equal(value('', gold), null);
	});
});
