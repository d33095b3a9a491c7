import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricTable } from '../../../../src/core/metrics/metricTable.ts';
import type { DashboardAlerts, DashboardRun } from '../../../../src/protocol/dashboardMessages.ts';
import { adviceOf, bestCheckpoint, nextSteps, resultOf } from '../../../../webview/dashboard/heroFacts.ts';

function tableOf(rows: readonly Readonly<Record<string, number>>[]): MetricTable {
	const table = new MetricTable();
	table.append(rows.map((values, i) => ({ step: i + 1, time: i, stage: 'grpo', values })));
	return table;
}

const heldOut = (accuracy: number, margin: number) => ({
	'eval/heldout/accuracy': accuracy,
	'eval/heldout/accuracy_low': accuracy - margin,
	'eval/heldout/accuracy_high': accuracy + margin,
});

test('the result is held-out accuracy with its interval, or the reward if nothing was evaluated', () => {
	assert.equal(resultOf(tableOf([])), null);
	assert.equal(resultOf(tableOf([{ loss: 1 }])), null);
	const evaluated = tableOf([heldOut(0.1, 0.05), { reward: 1 }, heldOut(0.6, 0.1), { reward: 2 }]);
	assert.deepEqual(resultOf(evaluated), {
		label: 'Held-out accuracy',
		from: '10.0%',
		to: '60.0%',
		note: '95% interval 50.0% to 70.0%',
	});
	assert.equal(resultOf(tableOf([{ 'eval/accuracy': 0.5 }]))?.note, null);
	const rewards = tableOf(Array.from({ length: 40 }, (_, i) => ({ reward: i < 20 ? 0 : 1 })));
	assert.deepEqual(resultOf(rewards), { label: 'Reward', from: '0', to: '1', note: 'means of 4 steps' });
});

test('the best checkpoint has the highest held-out accuracy at its own step, and the latest wins a tie', () => {
	const table = tableOf([heldOut(0.5, 0.1), heldOut(0.9, 0.1), { reward: 1 }, heldOut(0.5, 0.1)]);
	assert.deepEqual(bestCheckpoint(table, [1, 3, 4]), { step: 4, accuracy: 0.5, evaluated: 2 });
	assert.deepEqual(bestCheckpoint(table, [1, 2, 4]), { step: 2, accuracy: 0.9, evaluated: 3 });
	assert.equal(bestCheckpoint(table, [3, 77]), null, 'not measured there');
	assert.equal(bestCheckpoint(table, []), null);
	const mixed = tableOf([{ 'eval/accuracy': 0.99 }, heldOut(0.2, 0.1)]);
	assert.deepEqual(bestCheckpoint(mixed, [1, 2]), { step: 2, accuracy: 0.2, evaluated: 1 }, 'metrics are not mixed');
});

test('next steps depend on the state of the run, and on advice', () => {
	const run = (changes: Partial<DashboardRun>) =>
		({ status: 'finished', checkpoints: [4], ...changes }) as DashboardRun;
	assert.deepEqual(nextSteps(run({}), null), ['evaluate', 'tryInPlayground', 'compare']);
	assert.deepEqual(nextSteps(run({ status: 'running' }), null), []);
	assert.deepEqual(nextSteps(run({ checkpoints: [] }), null), ['compare']);
	assert.deepEqual(nextSteps(run({ format: 'trl' }), null), ['compare', 'query']);
	assert.deepEqual(nextSteps(run({ status: null }), null), []);
	const alert = (id: string, changes: object) => ({
		id,
		holds: true,
		dismissed: false,
		recipe: { key: 'beta' },
		...changes,
	});
	const alerts = {
		alerts: [
			alert('a', { recipe: null }),
			alert('b', { dismissed: true }),
			alert('c', { holds: false }),
			alert('d', {}),
		],
	} as unknown as DashboardAlerts;
	assert.equal(adviceOf(alerts), 'd');
	assert.deepEqual(nextSteps(run({}), alerts), ['showAdvice', 'evaluate', 'tryInPlayground']);
	assert.deepEqual(nextSteps(run({ status: 'running' }), alerts), ['showAdvice']);
});
