import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { isFinal, JobsApi } from '../../src/driver/ray/jobsApi.ts';
import type { RunRecord } from '../../src/protocol/runRecord.ts';
import { launchEngine } from '../../src/runs/launchEngine.ts';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import { connectRun } from '../../src/runs/runControl.ts';
import { listCheckpoints, readEvents, readRecord } from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { type RayCluster, startRayCluster } from '../support/rayCluster.ts';

/** GRPO with two workers (gloo, CPU) on a cluster of this machine, by the driver as a process and Ray's Jobs API. */

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// Where nobody looks, a suite that is left out would look like one that passed.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const dist = join(import.meta.dirname, '..', '..', 'dist');
const patienceMs = 240_000;

let cluster: RayCluster;
let folder: string;
const saved = { ...process.env };

before(async () => {
	if (python === '') return;
	folder = await mkdtemp(join(process.platform === 'win32' ? tmpdir() : '/tmp', 'rlt'));
	for (const name of ['REASONING_LAB_HOME', 'XDG_RUNTIME_DIR']) process.env[name] = await mkdtemp(join(folder, 'h'));
	cluster = await startRayCluster({ python });
	process.env.RAY_ADDRESS = cluster.address;
});

after(async () => {
	if (python === '') return;
	await cluster?.stop();
	process.env = saved;
	await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

/** A test that has failed leaves no job, which would keep the next one from its workers. */
afterEach(async () => {
	const api = new JobsApi({ address: cluster.address, headers: {} });
	for (const job of jobs.splice(0)) await api.stop(job).catch(() => undefined);
	for (const run of runs.splice(0)) {
		const record = await readRecord(run).catch(() => null);
		// The record of a run that has ended may name a process that is another one by now.
		if (record === null || !['starting', 'running', 'paused'].includes(record.status)) continue;
		try {
			process.kill(record.pid, 'SIGKILL');
		} catch {
			// It has ended.
		}
	}
});

const runs: string[] = [];

const jobs: string[] = [];

const recipe = (name: string, more: object) => ({
	format: 1,
	name,
	engine: 'ray',
	device: 'cpu',
	seed: 3,
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
	ray: { workers: 2, restarts: 2 },
	stages: [
		{
			type: 'grpo',
			steps: 8,
			num_generations: 4,
			prompts_per_step: 4,
			max_completion_length: 6,
			learning_rate: 1e-3,
			beta: 0.02,
		},
	],
	evaluate: { every: 4, problems: 8 },
	checkpoint: { every: 2, keep: 10 },
	...more,
});

async function start(name: string, more: object = {}): Promise<string> {
	const path = join(folder, `${name}.recipe.json`);
	await writeFile(path, JSON.stringify(recipe(name, more)));
	const prepared = await prepareRun(path);
	runs.push(prepared.folder);
	await launchEngine(prepared.folder, { engine: join(dist, 'driver.js'), waitMs: patienceMs }).catch(
		(error: unknown) => {
			throw new Error(`${error}\n${cluster.output()}`);
		},
	);
	jobs.push(basename(prepared.folder));
	return prepared.folder;
}

async function until<T>(what: string, look: () => Promise<T | null | false>): Promise<T> {
	const deadline = Date.now() + patienceMs;
	for (;;) {
		const found = await look();
		if (found !== null && found !== false) return found;
		if (Date.now() > deadline) throw new Error(`It took too long until ${what}.`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

const log = (run: string) => readFile(join(run, 'engine.log'), 'utf8').catch(() => '');

async function ended(run: string): Promise<RunRecord> {
	return until('the run ended', async () => {
		const record = await readRecord(run);
		return ['finished', 'stopped', 'crashed'].includes(record.status) ? record : null;
	});
}

async function steps(run: string): Promise<number[]> {
	const text = await readFile(join(run, 'metrics.jsonl'), 'utf8').catch(() => '');
	return text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line).step as number);
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test('two workers train; one that is killed in the middle is replaced, and no step is missing or doubled', {
	skip,
}, async () => {
	const run = await start('lost');
	const { id } = await readRecord(run);
	const sidecar = join(process.env.REASONING_LAB_HOME as string, 'ray', `${id}.ray`);
	// Before the second checkpoint is passed by, so that steps are done again: the run waits for that.
	await until('it trains', async () => (await steps(run)).includes(1) || ended0(run));
	const client = await connectRun(run, await readRecord(run), 'test');
	await client.request('run/pause', {});
	const pausedAt = (await readRecord(run)).step;
	assert.equal((await readRecord(run)).status, 'paused');
	const { pid } = JSON.parse(await readFile(join(sidecar, 'workers', '1.json'), 'utf8'));
	process.kill(pid, 'SIGKILL');
	const record = await ended(run);
	client.dispose();
	assert.equal(record.status, 'finished', await log(run));
	assert.ok(record.attempt > 1, 'it was begun again');
	assert.ok(pausedAt < 8, 'it was in the middle');
	assert.deepEqual(await steps(run), range(0, 8));
	const rollouts = (await readdir(join(run, 'rollouts'))).sort();
	assert.deepEqual(
		rollouts,
		range(1, 8).map((step) => `step_${String(step).padStart(6, '0')}.jsonl`),
	);
	assert.deepEqual(
		(await listCheckpoints(run)).map(({ step }) => step),
		[2, 4, 6, 8],
	);
	const events = (await readEvents(run)).map(({ type }) => type);
	assert.equal(events.filter((type) => type === 'finished').length, 1);
	assert.equal(events.filter((type) => type === 'resumed').length, 1);
	// What is here is what lies on the cluster.
	const there = join(process.env.REASONING_LAB_HOME as string, 'ray', id, 'metrics.jsonl');
	assert.equal(await readFile(join(run, 'metrics.jsonl'), 'utf8'), await readFile(there, 'utf8'));
	assert.match(record.device, /^ray: cpu/);
	assert.match(record.versions.ray ?? '', /^2\./);
});

async function ended0(run: string): Promise<false> {
	const { status, error } = await readRecord(run);
	if (status === 'crashed') throw new Error(`${error?.message}\n${await log(run)}`);
	return false;
}

test('a run is controlled and stopped through the job, and its driver finds the job again', { skip }, async () => {
	const stage = { ...recipe('', {}).stages[0], steps: 100_000 };
	const run = await start('stopped', { stages: [stage], evaluate: { every: 1000, problems: 8 } });
	await until('it trains', async () => (await steps(run)).some((step) => step >= 2) || ended0(run));
	const record = await readRecord(run);
	// The driver here dies; the job goes on.
	process.kill(record.pid, 'SIGKILL');
	await launchEngine(run, { engine: join(dist, 'driver.js'), resume: true, waitMs: patienceMs });
	const again = await readRecord(run);
	assert.notEqual(again.pid, record.pid);
	assert.equal((again.ray as { job: string }).job, (record.ray as { job: string }).job);
	const before = (await steps(run)).length;
	await until('it goes on', async () => (await steps(run)).length > before || ended0(run));
	const client = await connectRun(run, again, 'test');
	const generated = await client.request('policy/generate', { prompts: ['1+2='], n: 2, maxTokens: 3, seed: 1 });
	assert.equal(generated.completions[0]?.length, 2);
	const { fromStep } = await client.request('run/setHyperparameters', { learning_rate: 5e-4 });
	const checkpoint = await client.request('run/checkpoint', {});
	assert.ok((await listCheckpoints(run)).some(({ path }) => path === checkpoint.path));
	const stopped = await client.request('run/stop', { checkpoint: true });
	client.dispose();
	assert.equal(stopped.status, 'stopped', await log(run));
	const done = await steps(run);
	assert.deepEqual(done, range(0, done.length - 1));
	assert.equal((await listCheckpoints(run)).at(-1)?.step, done.at(-1));
	assert.equal(stopped.attempt, 1);
	const changed = (await readEvents(run)).filter(({ type }) => type === 'hyperparameters');
	assert.deepEqual(
		changed.map((event) => event.fromStep),
		[fromStep],
	);
	const api = new JobsApi({ address: cluster.address, headers: {} });
	const job = await until('the job has ended', async () => {
		const found = await api.job((again.ray as { job: string }).job);
		return found !== null && isFinal(found.status) ? found : null;
	});
	assert.equal(job.status, 'SUCCEEDED');
	// Resuming it is a job of its own, which goes on where the run on the cluster stands.
	jobs.push(`${basename(run)}-2`);
	await launchEngine(run, { engine: join(dist, 'driver.js'), resume: true, waitMs: patienceMs });
	await until('it goes on', async () => (await steps(run)).length > done.length || ended0(run));
	const resumed = await connectRun(run, await readRecord(run), 'test');
	const last = await resumed.request('run/stop', { checkpoint: true });
	resumed.dispose();
	assert.equal(last.attempt, 2);
	const all = await steps(run);
	assert.deepEqual(all, range(0, all.length - 1));
});

test('what cannot be done there is one sentence, and a lost head ends the run with what to do', { skip }, async () => {
	const refused = await start('refused', { ray: { workers: 1, storage: '/proc/nowhere' } });
	const record = await ended(refused);
	assert.equal(record.status, 'crashed');
	assert.match(record.error?.message ?? '', /cannot write the folder \/proc\/nowhere/);
	const run = await start('headless', { ray: { workers: 1 } });
	await cluster.kill();
	await until('the loss is told', async () => /not reached since/.test((await readRecord(run)).device));
	// It is told to stop, which the job cannot be.
	process.kill((await readRecord(run)).pid, 'SIGTERM');
	const lost = await ended(run);
	assert.equal(lost.status, 'crashed');
	assert.match(lost.error?.message ?? '', /cannot be reached, so its job .* could not be stopped/);
	assert.match(lost.error?.action ?? '', /Resume the run/);
});
