import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presentRun, presentStatusBar } from '../../../src/extension/runPresentation.ts';
import { displayText, projectOf, type RunView, sharedNames } from '../../../src/extension/runView.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';

// Times are displayed in local time.
process.env.TZ = 'UTC';

const record: RunRecord = {
	format: 1,
	id: 'a1',
	name: 'addition',
	engine: 'embedded',
	status: 'running',
	attempt: 1,
	stage: 'grpo',
	step: 120,
	totalSteps: 580,
	created: 1000,
	updated: 1290,
	heartbeat: 1295,
	host: 'h',
	boot: 'b',
	pid: 1,
	processStart: 's',
	device: 'cpu (2 workers)',
	parent: null,
	seeds: { run: 1 },
	versions: {},
	hashes: { recipe: '', dataset: '', rewards: '' },
};
const running: RunView = {
	folder: '/w/runs/addition-1',
	record,
	status: 'running',
	queued: false,
	fault: null,
	annotation: null,
	reward: 0.8349,
	accuracy: 0.5,
	tokensPerSecond: 4321,
};

function row(view: RunView): string {
	const { label, description, icon } = presentRun(view, 1200);
	return `${icon.id}${icon.color ? `(${icon.color})` : ''} | ${label} | ${description}`;
}

test('rows of the Runs view', () => {
	const rows = [
		running,
		{ ...running, status: 'starting' as const, record: { ...record, stage: null, step: 0 }, reward: null },
		{
			...running,
			queued: true,
			record: { ...record, stage: null, step: 0 },
			reward: null,
		},
		{ ...running, status: 'paused' as const },
		{ ...running, status: 'finished' as const, annotation: { format: 1 as const, name: 'best so far', tags: ['x'] } },
		{ ...running, status: 'stopped' as const, record: { ...record, totalSteps: null } },
		{ ...running, status: 'crashed' as const, reward: -0.001 },
		{ ...running, status: 'unreadable' as const, record: null, fault: 'run.json is damaged.', reward: null },
	].map(row);
	assert.deepEqual(rows, [
		'pulse(charts.green) | addition | grpo · 120/580 · reward 0.83 · 3 min 20 s',
		'watch | addition | starting · 0/580 · 3 min 20 s',
		'clock | addition | waiting for the device · 0/580 · 3 min 20 s',
		'debug-pause(charts.yellow) | addition | paused · grpo · 120/580 · reward 0.83 · 3 min 20 s',
		'pass-filled(testing.iconPassed) | best so far | finished · 120/580 · reward 0.83 · 4 min 55 s',
		'circle-slash | addition | stopped · 120 · reward 0.83 · 4 min 55 s',
		'error(problemsErrorIcon.foreground) | addition | crashed · 120/580 · reward 0.00 · 4 min 55 s',
		'warning(problemsWarningIcon.foreground) | addition-1 | unreadable',
	]);
});

test('runs of other engines show their engine and what they are waiting for', () => {
	const of = (engine: RunRecord['engine'], device: string, more: Partial<RunView> = {}, wait?: RunRecord['wait']) =>
		row({ ...running, reward: null, ...more, record: { ...record, engine, device, wait } });
	const starting = { status: 'starting' as const };
	assert.deepEqual(
		[
			of('pytorch', 'cuda (NVIDIA H200)'),
			row({ ...running, ...starting, record: { ...record, engine: 'pytorch', device: 'auto', ...starting } }),
			of('pytorch', 'waiting for cuda (process 71)', { queued: true }, 'device'),
			of('ray', 'ray (job pending)', { queued: true }, 'job'),
			of('ray', 'ray: cpu (2 x 1 thread)'),
			of('ray', 'ray (cluster not reached since 2025-11-20T12:00:00.000Z)', {}, 'cluster'),
			of('ray', 'ray (restarting after a failure)', {}, 'restart'),
			of('ray', 'ray (job running)', { status: 'stopped' }, 'loading'),
		],
		[
			'pulse(charts.green) | addition | PyTorch · grpo · 120/580 · 3 min 20 s',
			'watch | addition | PyTorch · loading · grpo · 120/580 · reward 0.83 · 3 min 20 s',
			'clock | addition | PyTorch · waiting for the device · grpo · 120/580 · 3 min 20 s',
			'clock | addition | Ray · job pending on the cluster · grpo · 120/580 · 3 min 20 s',
			'pulse(charts.green) | addition | Ray · grpo · 120/580 · 3 min 20 s',
			'pulse(charts.green) | addition | Ray · cluster unreachable · grpo · 120/580 · 3 min 20 s',
			'pulse(charts.green) | addition | Ray · restarting after the job was lost · grpo · 120/580 · 3 min 20 s',
			'circle-slash | addition | Ray · stopped · 120/580 · 4 min 55 s',
		],
	);
});

test('the tooltip shows the engine versions and the job', () => {
	const ray = { address: 'http://127.0.0.1:8265', job: 'addition-1', submissions: 1, folder: null, shared: null };
	const versions = { torch: '2.13.0', trl: '1.13.0', python: '3.11.7' };
	const shown = presentRun({ ...running, record: { ...record, engine: 'ray', versions, ray } as RunRecord }, 1200);
	assert.deepEqual(
		shown.tooltip.filter(([name]) => name === 'Engine' || name === 'Job'),
		[
			['Engine', 'Ray: trl 1.13.0, torch 2.13.0'],
			['Job', 'addition-1 at http://127.0.0.1:8265'],
		],
	);
	assert.match(shown.spoken, /^addition, Ray, running, grpo/);
	const hostile = { ...record, engine: 'ray', ray: { job: 7, address: '[x](command:y)' } } as RunRecord;
	assert.ok(!presentRun({ ...running, record: hostile }, 1200).tooltip.some(([name]) => name === 'Job'));
});

test('a run that paused itself shows the reason, but only while paused', () => {
	const pause = { message: 'The reward "f" failed on 16 of 16 rows.', action: 'Continue.', time: 1 };
	const rows = (status: RunView['status']) =>
		presentRun({ ...running, status, record: { ...record, pause } }, 1300).tooltip;
	assert.deepEqual(rows('paused').slice(0, 3), [
		['State', 'paused'],
		['Reason', pause.message],
		['Action', 'Continue.'],
	]);
	assert.ok(!rows('stopped').some(([name]) => name === 'Reason'));
});

test('text for menus, tooltips and screen readers', () => {
	const crashed: RunView = {
		...running,
		status: 'crashed',
		record: { ...record, error: { reason: 'full', message: 'The disk is full.', action: 'Free up some disk space.' } },
		annotation: { format: 1, tags: ['baseline', 'seed 1'], note: 'first try' },
	};
	const shown = presentRun(crashed, 2000);
	assert.equal(shown.contextValue, 'run ended resumable');
	assert.equal(presentRun(running, 1200).contextValue, 'run live running');
	assert.equal(presentRun({ ...running, status: 'paused' }, 1200).contextValue, 'run live paused');
	assert.equal(presentRun({ ...running, status: 'finished' }, 1200).contextValue, 'run ended');
	assert.equal(shown.spoken, 'addition, crashed, step 120 of 580, reward 0.83, 4 min 55 s');
	assert.deepEqual(shown.tooltip, [
		['State', 'crashed'],
		['Reason', 'The disk is full.'],
		['Action', 'Free up some disk space.'],
		['Stage', 'grpo'],
		['Step', '120/580'],
		['Reward', '0.83 (mean of the latest step)'],
		['Held-out accuracy', '50.0%'],
		['Started', '00:16'],
		['Elapsed', '4 min 55 s'],
		['Device', 'cpu (2 workers)'],
		['Engine', 'Embedded'],
		['Tags', 'baseline, seed 1'],
		['Note', 'first try'],
		['Folder', '/w/runs/addition-1'],
	]);
});

test('the status bar', () => {
	assert.deepEqual(presentStatusBar(running), {
		text: '$(pulse) grpo · 120/580 · reward 0.83 · 4.3k tok/s',
		tooltip: 'addition: running. Click to open the dashboard.',
		spoken: 'Reasoning Lab run addition, running, grpo, 120/580, reward 0.83, 4.3k tok/s',
	});
	assert.equal(
		presentStatusBar({ ...running, status: 'paused' }).text,
		'$(debug-pause) paused · grpo · 120/580 · reward 0.83',
	);
});

test('text from run folders cannot forge icons, lines or text direction, or flood a row', () => {
	assert.equal(displayText('a\u202Eb\nc\u0000d $(error) e'), 'a b c d $ (error) e');
	assert.equal(displayText('x'.repeat(500)).length, 120);
	// Notifications turn this into a link that runs a command.
	assert.equal(displayText('[look](command:x?%5B%5D)'), '[look] (command:x?%5B%5D)');
	assert.equal(displayText(']\u0000(command:x)'), '] (command:x)');
	assert.equal(displayText('[look]\u200B(command:x)'), '[look] (command:x)');
	const hostile = presentRun(
		{ ...running, record: { ...record, name: '\u202E$(check)\n', stage: '$(bug)\u2066' } },
		1200,
	);
	assert.equal(hostile.label, '$ (check)');
	assert.equal(hostile.description, '$ (bug) · 120/580 · reward 0.83 · 3 min 20 s');
	assert.equal(presentRun({ ...running, record: { ...record, name: '\u0007' } }, 1200).label, 'addition-1');
});

test('runs with the same name are distinguished by start time', () => {
	const other = { ...running, annotation: { format: 1 as const, name: 'other' } };
	assert.deepEqual([...sharedNames([running, other, running])], [['addition', 'time']]);
	const elsewhere = { ...running, folder: '/other/runs/pipeline/sft' };
	assert.deepEqual([...sharedNames([running, other, running, elsewhere, running])], [['addition', 'project']]);
	assert.equal(presentRun(running, 1200, 'time').label, 'addition 00:16');
	assert.equal(presentRun(elsewhere, 1200, 'project').label, 'addition (other) 00:16');
	assert.deepEqual(
		['/w/runs/a', '/w/runs/a/sft', 'C:\\w\\runs\\a', '/results/a', '/runs/a', '/a', '/w/runs'].map(projectOf),
		['w', 'w', 'w', 'results', 'runs', '', 'w'],
	);
});
