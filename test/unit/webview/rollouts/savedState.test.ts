import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../../../src/protocol/decode.ts';
import {
	type RolloutsEvent,
	rolloutsCommandSchema,
	rolloutsEventSchema,
	rolloutsRequests,
} from '../../../../src/protocol/rolloutsMessages.ts';
import { noFilters } from '../../../../webview/rollouts/filters.ts';
import { type SavedState, savedStateSchema } from '../../../../webview/rollouts/savedState.ts';

const snapshot: RolloutsEvent = {
	type: 'snapshot',
	sequence: 1,
	run: {
		folder: '/runs/a',
		name: 'a',
		status: 'running',
		stage: 'grpo',
		step: 3,
		think: ['<think>', '</think>'],
		answer: null,
		weights: [['accuracy', 1]],
	},
	steps: { step: [1], stage: [0], stages: ['grpo'], reward: [null], dead: [0.5] },
};

test('events are decoded, not cast', () => {
	assert.deepEqual(decode(rolloutsEventSchema, structuredClone(snapshot)), { ok: true, value: snapshot });
	const spoilt: readonly unknown[] = [
		null,
		{},
		{ type: 'unknown' },
		{ ...snapshot, sequence: -1 },
		{ ...snapshot, sequence: '1' },
		{ ...snapshot, run: { ...snapshot.run, status: 'exploded' } },
		{ ...snapshot, run: { ...snapshot.run, think: ['<think>'] } },
		{ ...snapshot, steps: { ...snapshot.steps, reward: ['high'] } },
		{ type: 'reveal', step: '1', group: null },
	];
	for (const event of spoilt) assert.equal(decode(rolloutsEventSchema, event).ok, false, JSON.stringify(event));
});

test('webview commands and requests are decoded', () => {
	assert.ok(decode(rolloutsCommandSchema, { type: 'ready' }).ok);
	for (const command of [{ type: 'exec' }, 'ready', { type: 'fault', message: 'x'.repeat(20_001) }]) {
		assert.equal(decode(rolloutsCommandSchema, command).ok, false);
	}
	const { loadGroup, search, copy } = rolloutsRequests;
	assert.ok(decode(loadGroup.params, { step: 1, group: 2 }).ok);
	assert.equal(decode(loadGroup.params, { step: '../../etc', group: 2 }).ok, false);
	assert.equal(decode(loadGroup.params, { step: Number.NaN, group: 2 }).ok, false);
	assert.equal(decode(search.params, { step: 1, text: '' }).ok, false);
	assert.equal(decode(search.params, { step: 1, text: 'x'.repeat(1001) }).ok, false);
	assert.equal(decode(copy.params, { step: 1, group: 1, index: 1, part: 'password' }).ok, false);
});

test('an invalid saved state is dropped', () => {
	const saved: SavedState = {
		runFolder: '/runs/a',
		step: 3,
		group: null,
		index: null,
		follow: true,
		filters: noFilters,
		rowOrder: 'index',
		groupOrder: 'file',
		layout: 'auto',
		tokenView: 'off',
		mode: 'compare',
		split: 'validation',
		marks: ['repeated'],
		pair: [{ split: 'train', step: 3, group: 1, index: 0 }],
		one: null,
		continued: { drafts: [], made: [] },
	};
	assert.deepEqual(decode(savedStateSchema, structuredClone(saved)), { ok: true, value: saved });
	for (const change of [
		{ runFolder: '' },
		{ layout: 'diagonal' },
		{ step: '3' },
		{ filters: {} },
		{ mode: 'cockpit' },
		{ pair: [1] },
	]) {
		assert.equal(decode(savedStateSchema, { ...saved, ...change }).ok, false, JSON.stringify(change));
	}
});
