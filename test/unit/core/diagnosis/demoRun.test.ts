import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { diagnose } from '../../../../src/core/diagnosis/diagnosis.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { metricsLineSchema } from '../../../../src/protocol/metricsLine.ts';
import { root } from '../../../scripts/paths.ts';
import { foreignRun, ownRun } from './syntheticRun.ts';

/** Demo metrics as written by an engine, with fewer digits: 480 steps, with accuracy rising from 0.37 to 0.90. */
const metrics = readFileSync(join(root, 'test/fixtures/diagnosis/demo-run.jsonl'), 'utf8')
	.trimEnd()
	.split('\n')
	.map((line) => decodeOrThrow(metricsLineSchema, JSON.parse(line), 'demo-run.jsonl'));

test('no rule fires at any point of the demo', () => {
	assert.ok(metrics.length > 400);
	for (const run of [ownRun, foreignRun]) {
		assert.deepEqual(diagnose(run, { metrics }), []);
		for (let length = 1; length < metrics.length; length += 37) {
			assert.deepEqual(diagnose(run, { metrics: metrics.slice(0, length) }), []);
		}
	}
});

test('rules fire if something goes wrong in the demo', () => {
	const last = metrics.at(-1);
	assert.ok(last);
	const after = (values: Record<string, number | null>) =>
		Array.from({ length: 60 }, (_, i) => ({
			...last,
			step: last.step + 1 + i,
			values: { ...last.values, 'eval/heldout/accuracy': null, ...values },
		}));
	const fires = (values: Record<string, number | null>) =>
		diagnose(ownRun, { metrics: [...metrics, ...after(values)] }).map(({ id }) => id);
	assert.deepEqual(fires({ loss: null, grad_norm: null }), ['not-a-number:update']);
	assert.deepEqual(fires({ frac_reward_zero_std: 0.95 }), ['dead-groups']);
	assert.deepEqual(fires({ 'throughput/tokens': 4000 }), ['throughput-drop']);
	assert.deepEqual(fires({ 'completions/clipped_ratio': 0.5 }), ['overlong']);
});
