import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MetricTable } from '../../../../src/core/metrics/metricTable.ts';
import { dashboardRunOf } from '../../../../src/extension/panels/dashboard/dashboardRun.ts';
import {
	type DashboardEvent,
	type DashboardRun,
	dashboardCommandSchema,
	dashboardEventSchema,
	dashboardRequests,
} from '../../../../src/protocol/dashboardMessages.ts';
import { decode } from '../../../../src/protocol/decode.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { DashboardModel, gapStyle } from '../../../../webview/dashboard/dashboardModel.ts';
import { elapsedOfRun, newestValue, remainingSeconds, statusWords } from '../../../../webview/dashboard/headerFacts.ts';
import { noticeOf } from '../../../../webview/dashboard/runNotice.ts';
import { engineWords, explainEngine } from '../../../../webview/dashboard/runWords.ts';
import { runRecord } from '../rollouts/rolloutsFixture.ts';
import { madeUpRun } from './dashboardFixture.ts';

function tableOf(steps: readonly number[], stage: (step: number) => string = () => 'grpo'): MetricTable {
	const table = new MetricTable();
	table.append(
		steps.map((step) => ({ step, time: 1000 + 2 * step, stage: stage(step), values: { reward: step / 10 } })),
	);
	return table;
}

type RowsEvent = Extract<DashboardEvent, { type: 'rows' }>;
const rows = (table: MetricTable, from: number, to: number, sequence: number): RowsEvent =>
	({ type: 'rows', sequence, chunk: table.chunk(from, to) }) as RowsEvent;
const snapshot = (sequence: number, count: number | null): DashboardEvent => ({
	type: 'snapshot',
	sequence,
	runFolder: '/runs/a',
	run: madeUpRun(),
	marks: [],
	rows: count,
});

describe('dashboard model', () => {
	it('applies a snapshot, its rows and numbered deltas', () => {
		const model = new DashboardModel();
		const table = tableOf([1, 2, 3, 4]);
		const changes: string[] = [];
		model.onChange((change) => changes.push(change.kind === 'rows' ? `rows ${change.row}` : change.kind));
		assert.equal(model.apply(snapshot(7, 3)), true);
		assert.equal(model.loading, true);
		assert.equal(model.apply(rows(table, 0, 2, 8)), true);
		assert.equal(model.apply(rows(table, 2, 3, 9)), true);
		assert.equal(model.loading, false);
		assert.equal(model.apply({ type: 'run', sequence: 10, run: madeUpRun({ status: 'paused' }) }), true);
		assert.equal(model.apply(rows(table, 3, 4, 11)), true);
		assert.deepEqual([...model.table.step], [1, 2, 3, 4]);
		assert.equal(model.run?.status, 'paused');
		assert.deepEqual(changes, ['reset', 'rows 0', 'rows 2', 'run', 'rows 3']);
	});

	it('requests a snapshot if an event is missing, and ignores events until it arrives', () => {
		const model = new DashboardModel();
		const table = tableOf([1, 2, 3, 4]);
		assert.equal(model.apply(rows(table, 0, 2, 1)), false, 'rows before the first snapshot are ignored');
		model.apply(snapshot(1, 2));
		model.apply(rows(table, 0, 2, 2));
		assert.equal(model.apply(rows(table, 3, 4, 4)), false);
		model.expectSnapshot();
		assert.equal(model.apply(rows(table, 2, 3, 3)), false, 'ignored even if the rows would fit');
		assert.equal(model.table.length, 2);
		assert.equal(model.apply(snapshot(5, 4)), true);
		assert.equal(model.table.length, 0);
		assert.equal(model.apply(rows(table, 0, 4, 6)), true);
		assert.equal(model.table.length, 4);
	});

	it('rejects a chunk that would leave a gap', () => {
		const model = new DashboardModel();
		const table = tableOf([1, 2, 3, 4]);
		model.apply(snapshot(1, 4));
		assert.equal(model.apply(rows(table, 2, 4, 2)), false);
	});

	it('replaces rows and their smoothed values', () => {
		const model = new DashboardModel();
		model.smoother.setWeight(0.5);
		model.apply(snapshot(1, 4));
		model.apply(rows(tableOf([1, 2, 3, 4]), 0, 4, 2));
		const before = [...(model.smoothed('reward') ?? [])];
		const other = new MetricTable();
		other.append(
			[1, 2, 3].map((step) => ({ step, time: step, stage: 'grpo', values: { reward: step < 3 ? step / 10 : 9 } })),
		);
		model.apply(rows(other, 2, 3, 3));
		const after = [...(model.smoothed('reward') ?? [])];
		assert.equal(after.length, 3);
		assert.deepEqual(after.slice(0, 2), before.slice(0, 2));
		assert.ok((after[2] as number) > 4);
	});

	it('remains in the loading state while the host reads', () => {
		const model = new DashboardModel();
		model.apply(snapshot(1, null));
		const table = tableOf([1, 2, 3]);
		model.apply(rows(table, 0, 2, 2));
		assert.equal(model.loading, true);
		assert.equal(model.apply({ type: 'loaded', sequence: 3, rows: 3 }), true);
		assert.equal(model.loading, true);
		model.apply(rows(table, 2, 3, 4));
		assert.equal(model.loading, false);
	});

	it('shows an overview after the rows received so far, and eventually only the rows', () => {
		const model = new DashboardModel();
		const stage = (step: number) => (step < 40 ? 'sft' : step < 70 ? 'grpo' : 'polish');
		const steps = Array.from({ length: 100 }, (_, i) => i + 1);
		const table = tableOf(steps, stage);
		// Contains no line from the second stage.
		const some = tableOf([1, 21, 39, 81, 100], stage);
		model.apply(snapshot(1, null));
		assert.equal(model.apply({ ...rows(some, 0, 5, 2), type: 'overview' }), true);
		assert.equal(model.loading, true);
		assert.deepEqual([...model.table.step], [1, 21, 39, 81, 100]);
		assert.deepEqual(
			[0, 2, 3, 4].map((row) => model.table.stageAt(row)),
			['sft', 'sft', 'polish', 'polish'],
		);
		model.smoother.setWeight(0.9);
		assert.equal(model.smoothed('reward')?.length, 5);
		model.apply(rows(table, 0, 30, 3));
		assert.deepEqual([...model.table.step], [...steps.slice(0, 30), 39, 81, 100]);
		assert.equal(model.loading, true);
		assert.equal(model.apply(rows(table, 32, 40, 4)), false, 'overview rows do not fill gaps');
		model.apply(rows(table, 30, 81, 4));
		assert.deepEqual([...model.table.step], [...steps.slice(0, 81), 100]);
		assert.deepEqual(
			[20, 60, 81].map((row) => model.table.stageAt(row)),
			['sft', 'grpo', 'polish'],
		);
		model.apply({ type: 'loaded', sequence: 5, rows: 100 });
		assert.equal(model.loading, true);
		assert.equal(model.length, 82);
		model.apply(rows(table, 81, 100, 6));
		assert.equal(model.loading, false);
		assert.deepEqual(model.table.chunk(0, 100), table.chunk(0, 100));
		const whole = new DashboardModel();
		whole.smoother.setWeight(0.9);
		whole.apply(snapshot(1, 100));
		whole.apply(rows(table, 0, 100, 2));
		assert.deepEqual(model.smoothed('reward'), whole.smoothed('reward'));
	});

	it('drops the overview if the run turns out to be shorter', () => {
		const model = new DashboardModel();
		model.apply(snapshot(1, null));
		model.apply({ ...rows(tableOf([1, 50, 100]), 0, 3, 2), type: 'overview' });
		model.apply(rows(tableOf([1, 2, 3]), 0, 3, 3));
		assert.equal(model.length, 5);
		model.apply({ type: 'loaded', sequence: 4, rows: 3 });
		assert.deepEqual([...model.table.step], [1, 2, 3]);
		assert.equal(model.loading, false);
	});

	it('recognizes gaps in metrics that are logged infrequently', () => {
		const nan = Number.NaN;
		assert.equal(gapStyle('reward', Float64Array.of(nan, 1, 2, 3, 4)), 'kept');
		assert.equal(gapStyle('reward', Float64Array.of(1, nan, 3, nan, 5)), 'bridged');
		assert.equal(gapStyle('eval/heldout/accuracy', Float64Array.of(1, 2, 3)), 'dotted');
		assert.equal(gapStyle('reward', Float64Array.of(nan, 1, nan)), 'dotted', 'a lone value is a dot');
	});
});

describe('dashboard messages', () => {
	const table = tableOf([1, 2]);
	it('are decoded, not cast', () => {
		const good = decode(dashboardEventSchema, rows(table, 0, 2, 1));
		assert.ok(good.ok);
		for (const bad of [
			{ ...rows(table, 0, 2, 1), sequence: -1 },
			{ ...rows(table, 0, 2, 1), sequence: 1.5 },
			{ type: 'rows', sequence: 1, chunk: { ...table.chunk(0, 2), step: [1, 2] } },
			{ type: 'rows', sequence: 1, chunk: { ...table.chunk(0, 2), values: [new Float32Array(2)] } },
			{ type: 'rows', sequence: 1, chunk: { ...table.chunk(0, 2), from: -3 } },
			{ type: 'run', sequence: 1, run: { ...madeUpRun(), status: 'flying' } },
			{ type: 'run', sequence: 1, run: { ...madeUpRun(), name: 'x'.repeat(5000) } },
			{ type: 'surprise', sequence: 1 },
			null,
			'rows',
		]) {
			assert.equal(decode(dashboardEventSchema, bad).ok, false, JSON.stringify(bad)?.slice(0, 80));
		}
	});

	it('from the webview are decoded too', () => {
		assert.ok(decode(dashboardCommandSchema, { type: 'ready' }).ok);
		assert.equal(decode(dashboardCommandSchema, { type: 'run', command: 'rm' }).ok, false);
		assert.equal(decode(dashboardCommandSchema, { type: 'fault', message: 'x'.repeat(30_000) }).ok, false);
		assert.ok(decode(dashboardRequests.act.params, { action: 'pause' }).ok);
		assert.equal(decode(dashboardRequests.act.params, { action: 'workbench.action.quit' }).ok, false);
		assert.ok(decode(dashboardRequests.save.params, { name: 'a.csv', kind: 'csv', bytes: new Uint8Array(3) }).ok);
		assert.equal(decode(dashboardRequests.save.params, { name: 'a', kind: 'exe', bytes: new Uint8Array(3) }).ok, false);
		assert.equal(decode(dashboardRequests.save.params, { name: 'a', kind: 'csv', bytes: [1] }).ok, false);
		assert.equal(decode(fromWebviewSchema, { kind: 'request', id: 'one', method: 'act' }).ok, false);
	});
});

describe('the dashboard header', () => {
	const stages = [
		{ name: 'sft', type: 'sft', steps: 4 },
		{ name: 'grpo', type: 'grpo', steps: 50 },
	].map((stage) => ({
		...stage,
		lossType: null,
		beta: null,
		advantages: null,
		updatesPerBatch: null,
		numGenerations: null,
	}));

	it('shows the remaining time only if it can be estimated', () => {
		const table = tableOf([1, 2, 3, 4, 5, 6, 7, 8], (step) => (step <= 4 ? 'sft' : 'grpo'));
		const run = madeUpRun({ stages, step: 8 });
		// 2 s per step; grpo started after step 4 and ends at step 54 at the latest.
		assert.equal(remainingSeconds(run, table), 2 * (54 - 8));
		assert.equal(remainingSeconds(madeUpRun({ stages, status: 'paused' }), table), null);
		assert.equal(
			remainingSeconds(
				run,
				tableOf([1, 2, 3, 4], () => 'sft'),
			),
			null,
			'the next stage may run at a different pace',
		);
		assert.equal(remainingSeconds(madeUpRun({ totalSteps: 20 }), table), 2 * (20 - 8));
		assert.equal(remainingSeconds(madeUpRun({ totalSteps: null }), table), null);
		assert.equal(remainingSeconds(run, tableOf([])), null);
	});

	it('counts the elapsed time up to now while the engine is running, and otherwise up to the last update', () => {
		assert.equal(elapsedOfRun(madeUpRun(), 1500), 500);
		assert.equal(elapsedOfRun(madeUpRun({ status: 'crashed' }), 1500), 100);
		assert.equal(
			statusWords(madeUpRun({ status: 'running', wait: { kind: 'device', words: 'waiting for the device' } })),
			'waiting for the device',
		);
		assert.equal(statusWords(madeUpRun({ status: null })), 'unreadable');
		assert.equal(newestValue(tableOf([1, 2]), ['kl', 'reward'])?.value, 0.2);
		assert.equal(newestValue(tableOf([1, 2]), ['kl']), null);
	});
});

const unknownStage = {
	steps: null,
	lossType: null,
	beta: null,
	advantages: null,
	updatesPerBatch: null,
	numGenerations: null,
};
const crashed = runRecord({ engine: 'pytorch', status: 'crashed', versions: { trl: '1.13.0', python: '3.11' } });

describe('the run banner', () => {
	it('shows what the run is waiting for, or why it ended and what to do', () => {
		const title = (run: DashboardRun | null, count = 0, hasGrpo = false, loading = false) =>
			noticeOf(run, count, hasGrpo, loading)?.title ?? null;
		assert.equal(title(null), 'Opening run');
		assert.equal(title(madeUpRun({ status: 'starting' })), 'Starting');
		assert.equal(
			title(madeUpRun({ status: 'running', wait: { kind: 'device', words: 'waiting' } })),
			'Waiting for the device',
		);
		assert.equal(title(madeUpRun()), 'Waiting for the first step');
		assert.equal(title(madeUpRun({ stage: 'sft' }), 10), 'Cold start');
		assert.equal(title(madeUpRun({ stage: 'sft', status: 'finished' }), 10), null);
		assert.equal(title(madeUpRun(), 10, true), null);
		assert.equal(title(madeUpRun({ status: 'stopped' })), 'No steps');
		assert.equal(title(madeUpRun(), 0, false, true), 'Opening run');
	});

	it('shows what remote engines are waiting for, and nothing during a cold start, which has no rewards', () => {
		const words = (run: DashboardRun, count = 0) => noticeOf(run, count, false, false)?.title ?? null;
		const ray = (kind: 'job' | 'cluster' | 'restart' | 'loading') =>
			madeUpRun({ engine: 'Ray', wait: { kind, words: kind } });
		assert.equal(words(ray('job')), 'Waiting for the cluster');
		assert.equal(words(ray('loading')), 'Starting on the cluster');
		assert.equal(words(ray('cluster'), 10), 'Cluster not responding');
		assert.equal(words(ray('restart'), 10), 'Restarting after losing a worker');
		const loading = { status: 'starting', engine: 'PyTorch', wait: { kind: 'loading', words: 'loading' } } as const;
		assert.equal(words(madeUpRun(loading)), 'Loading PyTorch');
		assert.equal(words(madeUpRun(loading), 10), null, 'a resumed run already has charts');
		assert.equal(statusWords(madeUpRun(loading)), 'loading');
		const stage = (name: string) => ({ ...unknownStage, name, type: name });
		const sft = (...after: string[]) => madeUpRun({ stage: 'sft', stages: ['sft', ...after].map(stage) });
		assert.equal(words(sft('rloo'), 10), 'Cold start');
		assert.equal(words(sft('dpo'), 10), null);
		assert.equal(words(sft(), 10), null);
	});

	it('offers to install missing packages if they caused a crash', () => {
		const record = {
			...crashed,
			error: { reason: 'missing', message: 'No Python.', action: 'Run Set Up PyTorch Engine.' } as const,
		};
		const facts = {
			status: 'crashed',
			failure: null,
			name: 'x',
			stages: [],
			checkpoints: [],
			workers: 4,
			now: 1,
		} as const;
		const run = dashboardRunOf({ ...facts, record });
		assert.deepEqual(
			noticeOf(run, 0, false, false)?.actions.map(({ label }) => label),
			['Set Up PyTorch Engine', 'Resume', 'Open Log'],
		);
		assert.equal(engineWords(run), 'PyTorch, 4 processes');
		assert.deepEqual(explainEngine(run).facts, [['trl', '1.13.0']]);
		const other = dashboardRunOf({
			...facts,
			record: { ...record, error: { reason: 'full' as const, message: 'Full.' } },
		});
		assert.ok(!other.actions.includes('setUpPytorch'));
		const resumed = dashboardRunOf({ ...facts, status: 'running', record });
		assert.ok(!resumed.actions.includes('setUpPytorch'));
	});

	it('offers to resume a crashed run from its latest checkpoint, and only actions that are possible', () => {
		const crash = noticeOf(
			madeUpRun({
				status: 'crashed',
				error: { message: 'The disk is full.', action: 'Free up some disk space.' },
				checkpoints: [50, 100],
				actions: ['resume', 'openLog'],
			}),
			120,
			true,
			false,
		);
		assert.equal(crash?.kind, 'error');
		assert.match(
			crash?.text ?? '',
			/^The disk is full\. Free up some disk space\. Resume continues from the checkpoint at step 100/,
		);
		assert.deepEqual(
			crash?.actions.map(({ action }) => action),
			['resume', 'openLog'],
		);
		const unreadable = noticeOf(
			madeUpRun({
				status: null,
				fault: { missing: false, message: 'run.json is newer.', action: 'Update.' },
				actions: ['openFolder'],
			}),
			0,
			false,
			false,
		);
		assert.equal(unreadable?.text, 'run.json is newer. Update.');
		const missing = { missing: true, message: 'There is no run.json.', action: null };
		assert.equal(noticeOf(madeUpRun({ status: null, fault: missing }), 0, false, true)?.kind, 'waiting');
		assert.deepEqual(
			unreadable?.actions.map(({ action }) => action),
			['openFolder'],
		);
	});

	it('explains why a run paused itself, however much data there is', () => {
		const pause = { message: 'The reward "brevity" failed on 16 of 16 rows.', action: 'Continue scores them again.' };
		const actions = ['continue', 'stop', 'checkpoint', 'openLog'] as const;
		const notice = noticeOf(madeUpRun({ status: 'paused', pause, actions: [...actions] }), 120, true, false);
		assert.equal(notice?.kind, 'warning');
		assert.equal(notice?.text, `${pause.message} ${pause.action}`);
		assert.deepEqual(
			notice?.actions.map(({ action }) => action),
			['continue', 'stop', 'openLog'],
		);
		assert.equal(noticeOf(madeUpRun({ status: 'paused' }), 120, true, false), null);
	});

	it('offers to open the rollouts of an external run without metrics', () => {
		const foreign = { format: 'verifiers', engine: 'verifiers', actions: ['openFolder' as const] };
		const ended = noticeOf(madeUpRun({ status: 'finished', ...foreign }), 0, false, false);
		assert.equal(ended?.title, 'No metrics');
		assert.match(ended?.text ?? '', /no verifiers metrics. Use the Rollouts button above to open its rollouts/);
		assert.deepEqual(
			ended?.actions.map(({ action }) => action),
			['openFolder'],
		);
		assert.equal(noticeOf(madeUpRun({ status: 'running', ...foreign }), 0, false, false)?.kind, 'waiting');
		assert.equal(noticeOf(madeUpRun({ status: 'finished', ...foreign }), 3, false, false), null);
	});
});
