import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { type Box, boxFrom, intersectionOverUnion } from '../../../../src/core/vision/box.ts';
import { matchBoxes } from '../../../../src/core/vision/matchBoxes.ts';
import { goldBoxes, parseBoxes } from '../../../../src/core/vision/parseBoxes.ts';

const box = (...corners: number[]) => boxFrom(corners) as Box;

describe('IoU', () => {
	test('equals the counts of covered cells on a grid', () => {
		const random = Random.of('boxes');
		for (let round = 0; round < 200; round++) {
			const [a, b] = [0, 1].map(() => {
				const [left, top] = [random.int(8), random.int(8)];
				return box(left, top, left + 1 + random.int(4), top + 1 + random.int(4));
			}) as [Box, Box];
			const covers = (one: Box, x: number, y: number) =>
				x >= one.left && x < one.right && y >= one.top && y < one.bottom;
			let [both, either] = [0, 0];
			for (let x = 0; x < 12; x++) {
				for (let y = 0; y < 12; y++) {
					both += Number(covers(a, x, y) && covers(b, x, y));
					either += Number(covers(a, x, y) || covers(b, x, y));
				}
			}
			assert.ok(Math.abs(intersectionOverUnion(a, b) - both / either) < 1e-12);
			assert.equal(intersectionOverUnion(a, b), intersectionOverUnion(b, a));
		}
	});

	test('is 0 for boxes without an area or with corners in the wrong order', () => {
		const whole = box(0, 0, 4, 4);
		for (const other of [box(1, 1, 1, 3), box(3, 3, 1, 1), box(4, 0, 8, 4)]) {
			assert.equal(intersectionOverUnion(whole, other), 0);
		}
		assert.equal(intersectionOverUnion(whole, whole), 1);
	});
});

describe('the boxes in an answer', () => {
	const corners = (text: string) => parseBoxes(text)?.map(({ left, top, right, bottom }) => [left, top, right, bottom]);

	test('are read in the formats of Visual-RFT and Qwen-VL', () => {
		const python =
			"[{'Position': [254, 303, 291, 365], 'Confidence': 0.9}, {'Position': [1, 2, 3, 4], 'Confidence': 0.8}]";
		assert.deepEqual(parseBoxes(python), [
			{ left: 254, top: 303, right: 291, bottom: 365, confidence: 0.9, label: null },
			{ left: 1, top: 2, right: 3, bottom: 4, confidence: 0.8, label: null },
		]);
		assert.deepEqual(parseBoxes(`<answer>${python}</answer>`), parseBoxes(python));
		assert.deepEqual(parseBoxes(`[${python}]`), parseBoxes(python));
		const qwen = '```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "dog"}]\n```';
		assert.deepEqual(parseBoxes(qwen), [{ left: 1, top: 2, right: 3, bottom: 4, confidence: null, label: 'dog' }]);
		const pairs = '<|object_ref_start|>the dog<|object_ref_end|><|box_start|>(1,2),(3,4)<|box_end|>';
		assert.equal(parseBoxes(pairs)?.[0]?.label, 'the dog');
		assert.deepEqual(parseBoxes('the dog(1,2),(3,4)'), parseBoxes(pairs));
		assert.deepEqual(corners('(1,2),(3,4), cat (5, 6), (7.5, 8)'), [
			[1, 2, 3, 4],
			[5, 6, 7.5, 8],
		]);
		assert.deepEqual(corners('[1, 2, 3, 4]'), [[1, 2, 3, 4]]);
		assert.deepEqual(corners('[[1, 2, 3, 4], [5, 6, 7, 8]]'), [
			[1, 2, 3, 4],
			[5, 6, 7, 8],
		]);
		for (const none of ['No Objects', 'no object.', '[]', ' [ ] ']) assert.deepEqual(parseBoxes(none), [], none);
	});

	test('are unknown if any part is not a box', () => {
		for (const text of [
			'',
			'a dog',
			'[1, 2, 3]',
			'[1, 2, 3, "4"]',
			'[1, 2, 3, 1e9]',
			'[[1, 2, 3, 4], null]',
			'{"Position": [1, 2, 3, 4], "Confidence": 2}',
			'[{"Position": [1, 2, 3, 4], "Confidence": 0.5}, {"Confidence": 0.5}]',
			'(1,2),(3,4) and so on',
			'(1,2),(3,4',
			`[${'[1, 2, 3, 4],'.repeat(300)}[1, 2, 3, 4]]`,
			'{"__proto__": {"Position": [1, 2, 3, 4]}}',
		]) {
			assert.equal(parseBoxes(text), null, text.slice(0, 60));
		}
	});

	test('are read in linear time from hostile text', () => {
		const since = performance.now();
		for (const text of [
			'(1,2),(3,4)'.repeat(1800),
			`a${' '.repeat(19_000)}b`,
			'['.repeat(19_999),
			'(1,'.repeat(6000),
		]) {
			assert.equal(parseBoxes(text), null);
			assert.equal(parseBoxes(text.repeat(20)), null);
		}
		assert.ok(performance.now() - since < 2000);
	});

	test('can also be decoded gold boxes from the dataset, which must have an area', () => {
		assert.equal(goldBoxes([[1, 2, 3, 4]])?.length, 1);
		assert.equal(goldBoxes({ bbox: [1, 2, 3, 4] })?.length, 1);
		assert.deepEqual(goldBoxes([]), []);
		for (const value of [null, undefined, 7, '7', '', [[1, 2, 1, 4]], [7]]) assert.equal(goldBoxes(value), null);
	});
});

describe('matching', () => {
	const named = (label: string | null, confidence: number | null, ...corners: number[]): Box => ({
		...box(...corners),
		label,
		confidence,
	});

	test('takes boxes by decreasing confidence and gives each the best unmatched gold box above the threshold', () => {
		const gold = [box(0, 0, 10, 10), box(20, 0, 30, 10)];
		const given = [
			named(null, 0.3, 0, 0, 10, 10),
			named(null, 0.9, 0, 0, 10, 8),
			named(null, 0.5, 20, 0, 30, 4),
			named(null, 0.2, 0, 0, 10, 8),
		];
		// A more confident box takes the gold box of the first. The third overlaps by 0.4; the fourth is a duplicate.
		assert.deepEqual(
			matchBoxes(given, gold, 0.5).map(({ box: { confidence }, gold: place, iou }) => [confidence, place, iou]),
			[
				[0.9, 0, 0.8],
				[0.5, null, 0],
				[0.3, null, 0],
			],
		);
		assert.deepEqual(
			matchBoxes(given, gold, 0.3).map(({ gold: place }) => place),
			[0, 1, null],
		);
	});

	test('never matches boxes with different labels', () => {
		const gold = [named('Dog', null, 0, 0, 10, 10)];
		const places = (label: string | null) =>
			matchBoxes([named(label, null, 0, 0, 10, 10)], gold, 0.5).map(({ gold: place }) => place);
		assert.deepEqual([places('dog'), places(null), places('cat')], [[0], [0], [null]]);
	});
});
