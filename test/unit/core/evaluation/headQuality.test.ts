import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { headQuality } from '../../../../src/core/evaluation/headQuality.ts';

test('values equal to the labels are perfect, and a constant 0.5 is uninformative', () => {
	const perfect = headQuality([0, 1, 1, 0], [0, 1, 1, 0]);
	assert.deepEqual([perfect?.brier, perfect?.accuracy, perfect?.auc, perfect?.calibrationError], [0, 1, 1, 0]);
	assert.ok((perfect?.loss as number) < 1e-6);
	const none = headQuality([0.5, 0.5, 0.5, 0.5], [0, 1, 1, 0]);
	assert.deepEqual([none?.brier, none?.auc, none?.calibrationError], [0.25, 0.5, 0]);
	assert.ok(Math.abs((none?.loss as number) - Math.LN2) < 1e-12);
	assert.equal(headQuality([], []), null);
	assert.equal(headQuality([0.2, 0.9], [1, 1])?.auc, null);
});

test('AUC is the fraction of correct/incorrect pairs in the right order, with ties counted as half', () => {
	const random = Random.of('auc');
	for (let round = 0; round < 20; round++) {
		const n = 2 + random.int(40);
		// Use few distinct values so that there are ties.
		const values = Array.from({ length: n }, () => random.int(6) / 5);
		const labels = Array.from({ length: n }, () => random.next());
		let pairs = 0;
		let won = 0;
		for (let i = 0; i < n; i++) {
			for (let j = 0; j < n; j++) {
				if ((labels[i] as number) < 0.5 || (labels[j] as number) >= 0.5) continue;
				pairs++;
				const difference = (values[i] as number) - (values[j] as number);
				won += difference > 0 ? 1 : difference === 0 ? 0.5 : 0;
			}
		}
		const auc = headQuality(values, labels)?.auc ?? null;
		if (pairs === 0) assert.equal(auc, null);
		else assert.ok(Math.abs((auc as number) - won / pairs) < 1e-12);
	}
});

test('calibration error is the distance between values and outcomes within a bin', () => {
	// Ten texts with value 0.8, seven of them correct, and ten with value 0.1, three of them correct.
	const values = [...new Array(10).fill(0.8), ...new Array(10).fill(0.1)];
	const labels = [
		...Array.from({ length: 10 }, (_, i) => (i < 7 ? 1 : 0)),
		...Array.from({ length: 10 }, (_, i) => (i < 3 ? 1 : 0)),
	];
	assert.ok(Math.abs((headQuality(values, labels)?.calibrationError as number) - 0.15) < 1e-12);
	assert.equal(headQuality([1, 1], [1, 0])?.calibrationError, 0.5);
});
