import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import { presentPipeline, presentStage } from '../../../../src/host/pipelines/pipelinePresentation.ts';
import { PipelineStore } from '../../../../src/host/pipelines/pipelineStore.ts';
import type { RunView } from '../../../../src/host/runView.ts';
import type { PipelineRecord, StageState } from '../../../../src/protocol/pipeline.ts';
import { writePipeline } from '../../../../src/runs/pipeline/pipelineFolder.ts';
import type { StageView } from '../../../../src/runs/pipeline/pipelineView.ts';

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

test('pipelines are found around the runs of their stages, and followed by their files', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const pipeline = join(folder, 'runs', 'story-1');
	await mkdir(join(pipeline, 'cold'), { recursive: true });
	await writePipeline(pipeline, record);
	const changed = new Emitter<void>();
	const runs = [{ folder: join(pipeline, 'cold') }, { folder: join(folder, 'runs', 'alone') }] as RunView[];
	const store = new PipelineStore({ runs, onDidChange: changed.event }, (error) => assert.fail(String(error)));
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
	assert.equal(news, 1, 'what stands still is no news');
	await writePipeline(pipeline, { ...record, status: 'stopped' });
	await store.refresh();
	assert.equal(store.get(pipeline)?.status, 'stopped');
	assert.equal(news, 2);
	await writeFile(join(pipeline, 'pipeline.json'), 'no JSON');
	await store.refresh();
	assert.deepEqual(store.pipelines, []);
	assert.equal(news, 3);
});

test('one that has no run yet is taken in when it is told of', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const store = new PipelineStore({ runs: [], onDidChange: new Emitter<void>().event }, () => undefined);
	context.after(() => store.dispose());
	await writePipeline(folder, record);
	await store.refresh();
	assert.deepEqual(store.pipelines, []);
	await store.expect(folder);
	assert.equal(store.pipelines.length, 1);
});

test('rows say in words how pipelines and stages stand', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writePipeline(folder, record);
	const store = new PipelineStore({ runs: [], onDidChange: new Emitter<void>().event }, () => undefined);
	context.after(() => store.dispose());
	await store.expect(folder);
	const [view] = store.pipelines;
	assert.ok(view);
	process.env.TZ = 'UTC';
	const row = presentPipeline(view, 2000);
	assert.equal(row.label, 'story');
	assert.equal(row.description, 'failed · rl · 2 of 4 stages · 00:16');
	assert.equal(row.contextValue, 'pipeline resumablePipeline');
	assert.equal(presentPipeline({ ...view, status: 'running' }, 2000).contextValue, 'pipeline livePipeline');
	const words = (name: string) => presentStage(view.stages.find((one) => one.name === name) as StageView).description;
	assert.equal(words('cold'), 'finished · grpo · accuracy 25.0 % · 40 s');
	assert.equal(words('more'), 'waits for rl, which has failed · grpo');
	assert.equal(words('other'), 'skipped · grpo · good enough');
	assert.match(words('rl'), /^failed · grpo · no rows.* left$/);
	assert.doesNotMatch(words('rl'), /\u202e/);
	const icons = view.stages.map((one) => presentStage(one).icon.id);
	assert.equal(new Set(icons).size, 4, icons.join());
});
