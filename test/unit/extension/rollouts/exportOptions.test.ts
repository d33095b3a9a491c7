import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportFormats } from '../../../../src/core/export/exportFormat.ts';
import { applyOptions, exportOptions, noChoices, optionsOf } from '../../../../src/extension/rollouts/exportOptions.ts';

test('any combination of checked options is applied', () => {
	assert.deepEqual(applyOptions([]), noChoices);
	const pick = (...ids: string[]) => applyOptions(exportOptions.filter(({ id }) => ids.includes(id)));
	assert.deepEqual(pick('correct', 'finished', 'best', 'unique', 'messages', 'perturbed'), {
		selection: { correct: true, truncated: false, bestPerGroup: 1 },
		rollouts: { unique: true, form: 'conversational', pairing: {} },
		perturbed: true,
	});
	assert.deepEqual(pick('pairs', 'length').rollouts.pairing, { perGroup: 4, lengthRatio: 1.5 });
	assert.equal(pick('neutral').neutral, 'right');
});

test('every format offers the options it supports, and ids are unique', () => {
	assert.deepEqual(Object.fromEntries(exportFormats.map((format) => [format, optionsOf(format).map(({ id }) => id)])), {
		sft: ['correct', 'finished', 'best', 'unique', 'messages', 'perturbed'],
		dpo: ['finished', 'pairs', 'length', 'messages'],
		cases: ['finished'],
		prm800k: [],
		'trl-stepwise': ['neutral'],
		'math-shepherd': ['neutral'],
		processbench: [],
		preferences: [],
	});
	assert.equal(new Set(exportOptions.map(({ id }) => id)).size, exportOptions.length);
});
