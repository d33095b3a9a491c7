import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import { pipelineEnd } from '../../../../src/extension/pipelines/pipelineEnd.ts';
import { presentPipeline, presentStage } from '../../../../src/extension/pipelines/pipelinePresentation.ts';
import { PipelineStore } from '../../../../src/extension/pipelines/pipelineStore.ts';
import { StagePace } from '../../../../src/extension/pipelines/stagePace.ts';
import type { RunView } from '../../../../src/extension/runView.ts';
import type { PipelineRecord, StageState } from '../../../../src/protocol/pipeline.ts';
import { writePipeline } from '../../../../src/runs/pipeline/pipelineFolder.ts';
import { type StageView, viewPipeline } from '../../../../src/runs/pipeline/pipelineView.ts';

const stage = (
	name: string,
	status: StageState['status'],
	after: string[],
	more: Partial<StageState> = {},
): StageState => ({
	name,
	type: 'grpo',
	status,
	after,
	inputHash: null,
	outputs: [],
	started: null,
	ended: null,
	attempt: null,
	accuracy: null,
	...more,
});

const nothingKnown = {
	runs: [],
	onDidChange: new Emitter<void>().event,
	expect: async (path: string) => path,
	isOwn: () => true,
};

const record: PipelineRecord = {
	format: 1,
	id: 'p',
	name: 'story',
	status: 'failed',
	attempt: 1,
	created: 1000,
	updated: 1100,
	heartbeat: 1100,
	host: 'h',
	boot: 'b',
	pid: 1,
	processStart: 's',
	recipeFolder: '/w',
	hashes: { recipe: 'a'.repeat(64) },
	stages: [
		stage('cold', 'finished', [], { started: 1000, ended: 1040, accuracy: 0.25 }),
		stage('rl', 'failed', ['cold'], { error: { reason: 'invalid', message: 'no rows\u202e left' } }),
		stage('more', 'waiting', ['rl']),
		stage('other', 'skipped', [], { skipped: 'good enough' }),
	],
};

test('pipelines are found from the runs of their stages, and their files are watched', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const pipeline = join(folder, 'runs', 'story-1');
	await mkdir(join(pipeline, 'cold'), { recursive: true });
	await writePipeline(pipeline, record);
	const changed = new Emitter<void>();
	const runs = [{ folder: join(pipeline, 'cold') }, { folder: join(folder, 'runs', 'alone') }] as RunView[];
	const store = new PipelineStore(
		{ runs, onDidChange: changed.event, expect: async (path) => path, isOwn: () => true },
		(error) => assert.fail(String(error)),
	);
	context.after(() => store.dispose());
	let news = 0;
	store.onDidChange(() => news++);
	await store.refresh();
	assert.deepEqual(
		store.pipelines.map(({ folder: found, status }) => [found, status]),
		[[pipeline, 'failed']],
	);
	assert.equal(store.around(join(pipeline, 'cold'))?.folder, pipeline);
	assert.equal(store.stageAt(join(pipeline, 'rl'))?.status, 'failed');
	assert.equal(store.stageAt(join(folder, 'runs', 'alone')), undefined);
	assert.equal(news, 1);
	await store.refresh();
	assert.equal(news, 1, 'an unchanged pipeline is not reported');
	await writePipeline(pipeline, { ...record, status: 'stopped' });
	await store.refresh();
	assert.equal(store.get(pipeline)?.status, 'stopped');
	assert.equal(news, 2);
	await writeFile(join(pipeline, 'pipeline.json'), 'no JSON');
	await store.refresh();
	assert.deepEqual(store.pipelines, []);
	assert.equal(news, 3);
});

test('a pipeline without runs is added when it is announced', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const store = new PipelineStore(nothingKnown, () => undefined);
	context.after(() => store.dispose());
	await writePipeline(folder, record);
	await store.refresh();
	assert.deepEqual(store.pipelines, []);
	await store.expect(folder);
	assert.equal(store.pipelines.length, 1);
});

test('rows describe the state of pipelines and stages', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writePipeline(folder, record);
	const store = new PipelineStore(nothingKnown, () => undefined);
	context.after(() => store.dispose());
	await store.expect(folder);
	const [view] = store.pipelines;
	assert.ok(view);
	process.env.TZ = 'UTC';
	const row = presentPipeline(view, 2000);
	assert.equal(row.label, 'story');
	assert.equal(row.description, 'failed · rl · 2 of 4 stages · 00:16');
	assert.equal(row.contextValue, 'pipeline endedPipeline resumablePipeline');
	assert.equal(presentPipeline({ ...view, status: 'running' }, 2000).contextValue, 'pipeline livePipeline');
	const pipelineRow = (name: string, facts = {}) =>
		presentStage(view.stages.find((one) => one.name === name) as StageView, facts);
	const words = (name: string) => pipelineRow(name).description;
	assert.equal(words('cold'), 'accuracy 25.0% · grpo · 40 s');
	assert.match(pipelineRow('cold').spoken, /^stage cold, finished, grpo/);
	assert.equal(words('more'), 'waiting for rl, which has failed · grpo');
	assert.equal(words('other'), 'skipped · grpo · good enough');
	assert.match(words('rl'), /^failed · grpo · no rows.* left$/);
	assert.doesNotMatch(words('rl'), /\u202e/);
	const icons = view.stages.map((one) => presentStage(one).icon.id);
	assert.equal(new Set(icons).size, 4, icons.join());
	// A failed stage is resumed with its pipeline.
	assert.equal(pipelineRow('rl', { pipeline: view }).contextValue, 'stage resumablePipeline');
	const tooltip = Object.fromEntries(pipelineRow('cold', { pipeline: view }).tooltip);
	assert.equal(tooltip.Before, 'rl');
	assert.equal(Object.fromEntries(row.tooltip)['Held-out accuracy'], 'cold 25.0%');
	assert.match(Object.fromEntries(row.tooltip).Action ?? '', /Resume the pipeline/);
});

test('a running pipeline shows the progress of its stage and the estimated time left', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writePipeline(folder, record);
	const store = new PipelineStore(nothingKnown, () => undefined);
	context.after(() => store.dispose());
	await store.expect(folder);
	const view = store.get(folder);
	assert.ok(view);
	const stages = view.stages.map((one) =>
		one.name === 'rl' ? { ...one, status: 'running' as const, done: 12, total: 20, why: null, seconds: 70 } : one,
	);
	const row = presentPipeline({ ...view, status: 'running', stages }, 2000, 84);
	assert.equal(row.description, 'rl 12/20 · 2 of 4 stages · about 1 min left · 1 min 50 s');
	assert.equal(row.contextValue, 'pipeline livePipeline');
	const rl = stages.find(({ name }) => name === 'rl') as StageView;
	const run = { status: 'running', record: { engine: 'embedded', queued: null }, reward: 0.5, accuracy: 0.75 } as never;
	assert.equal(
		presentStage(rl, { run, left: 5 }).description,
		'12/20 · about 5 s left · accuracy 75.0% · reward 0.50 · grpo · 1 min 10 s',
	);
	const evaluation = { accuracy: { accuracy: 0.5, low: 0.25, high: 0.75 } } as never;
	const measured = { ...rl, type: 'evaluate', status: 'finished' as const };
	assert.match(presentStage(measured, { evaluation }).description, /pass@1 50\.0% \(25\.0 to 75\.0\)/);
	assert.equal(presentStage(measured, { evaluation }).contextValue, 'stage evaluation');
});

test('the estimate is based on observed progress and ignores interruptions', () => {
	const pace = new StagePace();
	assert.equal(pace.left('a', 10, 20, 100), null);
	pace.note('a', 10, 100);
	assert.equal(pace.left('a', 10, 20, 110), null, 'no progress since then');
	assert.equal(pace.left('a', 15, 20, 101), null, 'too little time to estimate');
	assert.equal(pace.left('a', 15, 20, 110), 10);
	pace.note('a', 15, 110);
	assert.equal(pace.left('a', 20, 20, 120), null, 'a finished stage has no time left');
	// The stage restarts.
	pace.note('a', 2, 200);
	assert.equal(pace.left('a', 4, 20, 204), 32);
	pace.forget('a');
	assert.equal(pace.left('a', 4, 20, 204), null);
});

test('the end of a pipeline is described in one sentence, with its result or an action', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writePipeline(folder, record);
	const view = await viewPipeline(folder);
	assert.equal(pipelineEnd(view), 'story failed at rl: no rows left. Fix the problem, then resume the pipeline.');
	assert.match(
		pipelineEnd({ ...view, status: 'crashed' }),
		/^story stopped because its runner exited; 2 of 4 stages are done\. Resume it/,
	);
	assert.match(
		pipelineEnd({ ...view, status: 'finished' }),
		/^story finished its 4 stages in \d+ \w+: cold has a held-out accuracy of 25\.0%\.$/,
	);
	const stages = view.stages.map((one) => (one.name === 'rl' ? { ...one, status: 'stopped' as const } : one));
	assert.equal(pipelineEnd({ ...view, status: 'stopped', stages }), 'story was stopped at rl; 2 of 4 stages are done.');
});
