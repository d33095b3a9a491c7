import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stageLines } from '../../../../src/extension/pipelines/stageLines.ts';
import type { PipelineView } from '../../../../src/runs/pipeline/pipelineView.ts';

const recipe = `{
	"name": "story",
	// The stages.
	"stages": [
		{ "name": "base", "type": "pretrain" },
		{
			"name": "rl", "type": "grpo", "from": "base"
		},
		{ "name": "kept", "type": "rejection-sampling", "from": { "stage": "rl", "checkpoint": "best" } },
		{ "name": "sft", "type": "sft", "from": "base", "data": { "stage": "kept" } },
		{ "name": "file", "type": "sft", "data": "base" },
		{ "name": "half"
	]
}`;

test('each named stage lists the stages before and after it, at its line', () => {
	assert.deepEqual(
		stageLines(recipe, null).map(({ name, line, words, state }) => [name, line, words, state]),
		[
			['base', 4, 'before rl and sft', null],
			['rl', 5, 'after base, before kept', null],
			['kept', 8, 'after rl, before sft', null],
			['sft', 9, 'after base and kept', null],
			['file', 10, '', null],
		],
	);
});

test('long lists are shortened, and recipes without a pipeline get no lines', () => {
	const stages = Array.from({ length: 6 }, (_, i) => ({
		name: `s${i}`,
		type: 'sft',
		...(i > 0 ? { from: 's0' } : {}),
	}));
	assert.equal(stageLines(JSON.stringify({ stages }), null)[0]?.words, 'before s1, s2, s3, s4 and 1 more');
	assert.deepEqual(stageLines('{ "stages": [{ "type": "sft" }] }', null), []);
	assert.deepEqual(stageLines('{ "stages": 3 }', null), []);
	assert.deepEqual(stageLines('', null), []);
});

test('a stage shows its state in the started pipeline', () => {
	const stage = { name: 'base', type: 'pretrain', status: 'finished', done: 20, total: 20, accuracy: 0.5, seconds: 60 };
	const view = {
		stages: [
			{ ...stage, why: null, folder: '/p/base', kept: [], partial: null, tokens: null, costs: [], device: null },
		],
		record: { stages: [] },
	};
	const [base, rl] = stageLines(recipe, view as unknown as PipelineView);
	assert.equal(base?.state, '$(pass-filled) finished · accuracy 50.0% · pretrain · 20/20 · 1 min 00 s');
	assert.equal(rl?.state, null);
});
