// @reaches driver trainer
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { Failure } from '../../src/base/failure.ts';
import { isFinal, JobsApi } from '../../src/engines/driver/ray/jobsApi.ts';
import { runRayEngine } from '../../src/engines/driver/ray/rayEngine.ts';
import type { RunRecord } from '../../src/protocol/runRecord.ts';
import type { ControlClient } from '../../src/rpc/controlClient.ts';
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
	await writeFile(join(folder, 'slow.reward.ts'), slowReward);
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
		if (record === null || record.pid === process.pid) continue;
		if (!['starting', 'running', 'paused'].includes(record.status)) continue;
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
	rewards: [{ use: 'accuracy' }, { file: 'slow.reward.ts', weight: 0.2 }],
	ray: { workers: 2, restarts: 2 },
	stages: [
		{
			type: 'grpo',
			steps,
			num_generations: 2,
			prompts_per_step: 2,
			max_completion_length: 4,
			learning_rate: 1e-3,
			beta: 0.02,
		},
	],
	evaluate: { every: 8, problems: 4 },
	checkpoint: { every: 6, keep: 20 },
	...more,
});

const steps = 24;
/** However fast the machine is, a request that is sent at one step is there long before the last one. */
const slowReward = `export const slow = async () => {
	await new Promise((resolve) => setTimeout(resolve, 150));
	return 0.5;
};
`;

async function prepare(name: string, more: object = {}): Promise<string> {
	const path = join(folder, `${name}.recipe.json`);
	await writeFile(path, JSON.stringify(recipe(name, more)));
	const prepared = await prepareRun(path);
	runs.push(prepared.folder);
	jobs.push(basename(prepared.folder));
	return prepared.folder;
}

async function launch(run: string, resume = false): Promise<void> {
	const options = { engine: join(dist, 'driver.js'), resume, waitMs: patienceMs };
	await launchEngine(run, options).catch((error: unknown) => {
		throw new Error(`${error}\n${cluster.output()}`);
	});
}

/** A driver in this process. */
function follow(run: string) {
	const args = { kind: 'run', run, resume: false, parentCheckpoint: null } as const;
	return runRayEngine(args, { dist, tickMs: 50, pollMs: 100, quietMs: 300, unreachableMs: 1000 });
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

async function stepsOf(run: string): Promise<number[]> {
	const text = await readFile(join(run, 'metrics.jsonl'), 'utf8').catch(() => '');
	return text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line).step as number);
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

async function stillRuns(run: string): Promise<false> {
	const { status, error } = await readRecord(run);
	if (status === 'crashed') throw new Error(`${error?.message}\n${await log(run)}`);
	return false;
}

/** Resolves once there are more steps than `count`. */
async function moreSteps(run: string, count: number): Promise<void> {
	await until(`there are more than ${count} steps`, async () => (await stepsOf(run)).length > count || stillRuns(run));
}

async function connected(run: string): Promise<ControlClient> {
	return connectRun(run, await readRecord(run), 'test');
}

/** Pauses as soon as the job takes requests. */
async function paused(run: string, client: ControlClient): Promise<void> {
	await until('it is paused', async () => {
		try {
			return await client.request('run/pause', {});
		} catch (error) {
			if (Failure.from(error).reason !== 'unavailable') throw error;
			return stillRuns(run);
		}
	});
	assert.equal((await readRecord(run)).status, 'paused');
}

test('a run of two workers is controlled, lives through the loss of its driver here and of a worker, and finishes', {
	skip,
}, async () => {
	const run = await prepare('whole');
	await launch(run);
	const before = await connected(run);
	await paused(run, before);
	before.dispose();
	const record = await readRecord(run);
	// The driver here dies; the job goes on.
	process.kill(record.pid, 'SIGKILL');
	await launch(run, true);
	const again = await readRecord(run);
	assert.notEqual(again.pid, record.pid);
	const { job } = again.ray as { job: string };
	assert.equal(job, (record.ray as { job: string }).job);
	const client = await connected(run);
	await paused(run, client);
	const generated = await client.request('policy/generate', { prompts: ['1+2='], n: 2, maxTokens: 3, seed: 1 });
	assert.equal(generated.completions[0]?.length, 2);
	const { fromStep } = await client.request('run/setHyperparameters', { learning_rate: 5e-4 });
	const checkpoint = await client.request('run/checkpoint', {});
	assert.ok((await listCheckpoints(run)).some(({ path }) => path === checkpoint.path));
	const first = (await stepsOf(run)).length;
	await client.request('run/resume', {});
	await moreSteps(run, first);
	const stopped = await client.request('run/stop', { checkpoint: true });
	client.dispose();
	assert.equal(stopped.status, 'stopped', await log(run));
	assert.equal(stopped.attempt, 1);
	const done = await stepsOf(run);
	assert.ok(done.length <= steps, 'it was in the middle');
	assert.deepEqual(done, range(0, done.length - 1));
	assert.equal((await listCheckpoints(run)).at(-1)?.step, done.at(-1));
	const changed = (await readEvents(run)).filter(({ type }) => type === 'hyperparameters');
	assert.deepEqual(
		changed.map((event) => event.fromStep),
		[fromStep],
	);
	const api = new JobsApi({ address: cluster.address, headers: {} });
	const ending = await until('the job has ended', async () => {
		const found = await api.job(job);
		return found !== null && isFinal(found.status) ? found : null;
	});
	assert.equal(ending.status, 'SUCCEEDED');

	// Resuming it is a job of its own, which goes on where the run on the cluster stands.
	jobs.push(`${basename(run)}-2`);
	await launch(run, true);
	const { id } = await readRecord(run);
	await moreSteps(run, done.length);
	const resumed = await connected(run);
	await paused(run, resumed);
	assert.equal((await readRecord(run)).attempt, 2);
	const pausedAt = (await readRecord(run)).step;
	assert.ok(pausedAt < steps, 'it was in the middle');
	const sidecar = join(process.env.REASONING_LAB_HOME as string, 'ray', `${id}.ray`);
	const { pid } = JSON.parse(await readFile(join(sidecar, 'workers', '1.json'), 'utf8'));
	process.kill(pid, 'SIGKILL');
	const last = await ended(run);
	resumed.dispose();
	assert.equal(last.status, 'finished', await log(run));
	assert.equal(last.attempt, 3, 'it was begun again');
	assert.deepEqual(await stepsOf(run), range(0, steps));
	const rollouts = (await readdir(join(run, 'rollouts'))).sort();
	assert.deepEqual(
		rollouts,
		range(1, steps).map((step) => `step_${String(step).padStart(6, '0')}.jsonl`),
	);
	const kept = (await listCheckpoints(run)).map(({ step }) => step);
	for (const step of [6, 12, 18, 24]) assert.ok(kept.includes(step), `${kept}`);
	const events = (await readEvents(run)).map(({ type }) => type);
	assert.equal(events.filter((type) => type === 'finished').length, 1);
	assert.equal(events.filter((type) => type === 'resumed').length, 2);
	// What is here is what lies on the cluster.
	const there = join(process.env.REASONING_LAB_HOME as string, 'ray', id, 'metrics.jsonl');
	assert.equal(await readFile(join(run, 'metrics.jsonl'), 'utf8'), await readFile(there, 'utf8'));
	assert.match(last.device, /^ray: cpu/);
	assert.match(last.versions.ray ?? '', /^2\./);
});

test('what cannot be done there is one sentence, and a lost head ends the run with what to do', { skip }, async () => {
	const refused = await prepare('refused', { ray: { workers: 1, storage: '/proc/nowhere' } });
	assert.notEqual(await follow(refused).exit, 0);
	const record = await readRecord(refused);
	assert.equal(record.status, 'crashed');
	assert.match(record.error?.message ?? '', /cannot write the folder \/proc\/nowhere/);
	const run = await prepare('headless', { ray: { workers: 1 } });
	const engine = follow(run);
	await until('the job is submitted', async () =>
		/\(job /.test((await readRecord(run).catch(() => null))?.device ?? ''),
	);
	await cluster.kill();
	await until('the loss is told', async () => /not reached since/.test((await readRecord(run)).device));
	// It is told to stop, which the job cannot be.
	engine.stop();
	assert.notEqual(await engine.exit, 0);
	const lost = await readRecord(run);
	assert.equal(lost.status, 'crashed');
	assert.match(lost.error?.message ?? '', /cannot be reached, so its job .* could not be stopped/);
	assert.match(lost.error?.action ?? '', /Resume the run/);
});
