import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { Failure } from '../../src/base/failure.ts';
import { JobsApi } from '../../src/engines/driver/ray/jobsApi.ts';
import { runRayEngine } from '../../src/engines/driver/ray/rayEngine.ts';
import type { RunRecord } from '../../src/protocol/runRecord.ts';
import type { ControlClient } from '../../src/rpc/controlClient.ts';
import { launchEngine } from '../../src/runs/launchEngine.ts';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import { connectRun } from '../../src/runs/runControl.ts';
import { readRecord } from '../../src/runs/runReader.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';
import { type RayCluster, startRayCluster } from '../support/rayCluster.ts';

/** GRPO with two workers (gloo, CPU) on a local cluster, using the driver as a process and Ray's Jobs API. */

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
export const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const dist = join(import.meta.dirname, '..', '..', 'dist');
const patienceMs = 240_000;

export let cluster: RayCluster;
let folder: string;
const saved = { ...process.env };

/** Starts a cluster before the tests in the calling file, and stops it with all its jobs after them. */
export function useRayCluster(): void {
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

	/** Stops jobs left by a failed test, which would keep the next test from getting its workers. */
	afterEach(async () => {
		const api = new JobsApi({ address: cluster.address, headers: {} });
		for (const job of jobs.splice(0)) await api.stop(job).catch(() => undefined);
		for (const run of runs.splice(0)) {
			const record = await readRecord(run).catch(() => null);
			// The process id in a finished run's record may belong to another process by now.
			if (record === null || record.pid === process.pid) continue;
			if (!['starting', 'running', 'paused'].includes(record.status)) continue;
			try {
				process.kill(record.pid, 'SIGKILL');
			} catch {
				// It has ended.
			}
		}
	});
}

const runs: string[] = [];

export const jobs: string[] = [];

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

export const steps = 24;
/** Slow enough that a request sent at one step arrives long before the last one, however fast the machine is. */
const slowReward = `export const slow = async () => {
	await new Promise((resolve) => setTimeout(resolve, 150));
	return 0.5;
};
`;

export async function prepare(name: string, more: object = {}): Promise<string> {
	const path = join(folder, `${name}.recipe.json`);
	await writeFile(path, JSON.stringify(recipe(name, more)));
	const prepared = await prepareRun(path);
	runs.push(prepared.folder);
	jobs.push(basename(prepared.folder));
	return prepared.folder;
}

export async function launch(run: string, resume = false): Promise<void> {
	const options = { engine: join(dist, 'driver.js'), resume, waitMs: patienceMs };
	await launchEngine(run, options).catch((error: unknown) => {
		throw new Error(`${error}\n${cluster.output()}`);
	});
}

/** Prepares a run with one step on an environment, for a model in a folder. The reward of each row is its number. */
export async function prepareEpisodes(name: string): Promise<string> {
	const at = (file: string) => join(folder, file);
	const rows = Array.from({ length: 8 }, (_, i) => ({ prompt: `Task ${i}.`, answer: null, number: i }));
	await writeFile(at('echo.rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
	await writeFile(at('echo.env.py'), echo);
	await runPython({ python, script: join(root, 'test/trainer/python/tool_model.py'), args: [at('model')] });
	return prepare(name, {
		dataset: { path: 'echo.rows.jsonl', heldOutShare: 0.25 },
		model: { path: 'model' },
		template: { prompt: '{prompt}', think: null, answer: null, chat: true },
		environment: { file: 'echo.env.py' },
		rewards: [{ use: 'environment' }],
		evaluate: { every: 8, problems: 2 },
		stages: [
			{
				...{ type: 'grpo', steps: 1, learning_rate: 1e-3, num_generations: 2, prompts_per_step: 3 },
				max_completion_length: 8,
			},
		],
	});
}

const echo = `import os

class Echo:
    def reset(self, number, **row):
        self.number = number
        self.process = os.getpid()
        return f" Number {number}."

    def say(self, text: str) -> str:
        """
        Says something.

        Args:
            text: What to say.
        """
        return text

    def get_reward(self):
        return self.number
`;

/** Runs a driver in this process. */
export function follow(run: string) {
	const args = { kind: 'run', run, resume: false, parentCheckpoint: null } as const;
	return runRayEngine(args, { dist, tickMs: 50, pollMs: 100, quietMs: 300, unreachableMs: 1000 });
}

export async function until<T>(what: string, look: () => Promise<T | null | false>): Promise<T> {
	const deadline = Date.now() + patienceMs;
	for (;;) {
		const found = await look();
		if (found !== null && found !== false) return found;
		if (Date.now() > deadline) throw new Error(`Timed out waiting until ${what}.`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

export const log = (run: string) => readFile(join(run, 'engine.log'), 'utf8').catch(() => '');

export async function ended(run: string): Promise<RunRecord> {
	return until('the run ended', async () => {
		const record = await readRecord(run);
		return ['finished', 'stopped', 'crashed'].includes(record.status) ? record : null;
	});
}

export async function stepsOf(run: string): Promise<number[]> {
	const text = await readFile(join(run, 'metrics.jsonl'), 'utf8').catch(() => '');
	return text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line).step as number);
}

export const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

async function stillRuns(run: string): Promise<false> {
	const { status, error } = await readRecord(run);
	if (status === 'crashed') throw new Error(`${error?.message}\n${await log(run)}`);
	return false;
}

/** Resolves when there are more than `count` steps. */
export async function moreSteps(run: string, count: number): Promise<void> {
	await until(`there are more than ${count} steps`, async () => (await stepsOf(run)).length > count || stillRuns(run));
}

export async function connected(run: string): Promise<ControlClient> {
	return connectRun(run, await readRecord(run), 'test');
}

/** Pauses the run as soon as the job accepts requests. */
export async function paused(run: string, client: ControlClient): Promise<void> {
	await until('the run is paused', async () => {
		try {
			return await client.request('run/pause', {});
		} catch (error) {
			if (Failure.from(error).reason !== 'unavailable') throw error;
			return stillRuns(run);
		}
	});
	assert.equal((await readRecord(run)).status, 'paused');
}
