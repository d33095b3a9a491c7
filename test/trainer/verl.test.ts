// @reaches driver trainer
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runRayEngine } from '../../src/engines/driver/ray/rayEngine.ts';
import type { EngineProcess } from '../../src/engines/shared/engineProcess.ts';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import { readEvents, readRecord } from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { elsewhere, type JobRunner, type JobRunnerOptions, startJobRunner } from '../support/jobRunner.ts';

/**
 * Submits, follows and mirrors recipes that run verl. A stand-in for the package writes files in verl's formats. Either
 * the storage is accessible from here, or everything arrives through the job log.
 */

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const standIn = join(import.meta.dirname, '..', 'fixtures', 'verl-stand-in');
const dist = join(import.meta.dirname, '..', '..', 'dist');
const saved = { ...process.env };
let folder: string;

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'rlv'));
	for (const name of ['REASONING_LAB_HOME', 'XDG_RUNTIME_DIR']) process.env[name] = await mkdtemp(join(folder, 'h'));
	if (python !== '') process.env.REASONING_LAB_PYTHON = python;
	await writeFile(
		join(folder, 'right.reward.py'),
		'def right(completions, answer, **kwargs):\n    return [1.0 if str(a) in c else 0.0 for c, a in zip(completions, answer)]\n',
	);
});

after(async () => {
	process.env = saved;
	await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

interface Started {
	readonly run: string;
	readonly engine: EngineProcess;
	readonly runner: JobRunner;
}

async function start(name: string, options: Omit<JobRunnerOptions, 'python'>, change: object = {}): Promise<Started> {
	const runner = await startJobRunner({ python, ...options });
	const recipe = {
		format: 1,
		name,
		engine: 'ray',
		device: 'cuda',
		dataset: { task: 'addition', digits: 1 },
		model: { path: 'Qwen/Qwen2.5-0.5B' },
		rewards: [{ file: 'right.reward.py', name: 'right', weight: 2 }],
		ray: { address: runner.address, payload: 'verl', workers: 2 },
		stages: [
			{
				type: 'grpo',
				steps: 3,
				num_generations: 4,
				prompts_per_step: 2,
				max_completion_length: 16,
				learning_rate: 1e-6,
				lr_scheduler_type: 'constant',
			},
		],
		evaluate: { every: 3, problems: 4 },
		...change,
	};
	const path = join(folder, `${name}.recipe.json`);
	await writeFile(path, JSON.stringify(recipe));
	const prepared = await prepareRun(path);
	const args = { kind: 'run', run: prepared.folder, resume: false, parentCheckpoint: null } as const;
	return { run: prepared.folder, runner, engine: runRayEngine(args, { dist, tickMs: 50, pollMs: 100 }) };
}

async function why(run: string): Promise<string> {
	const log = await readFile(join(run, 'engine.log'), 'utf8').catch(() => '');
	return `${JSON.stringify((await readRecord(run)).error)}\n${log}`;
}

async function mirrored(run: string): Promise<void> {
	const metrics = (await readFile(join(run, 'metrics.jsonl'), 'utf8')).trim().split('\n');
	const lines = metrics.map((line) => JSON.parse(line));
	assert.deepEqual(
		lines.map(({ step }) => step),
		[0, 1, 2, 3],
	);
	// verl's score includes the recipe's weight; every other completion is correct.
	assert.equal(lines[1].reward, 1);
	assert.equal(lines[1].stage, 'grpo');
	assert.deepEqual(
		(await readdir(join(run, 'rollouts'))).sort(),
		[1, 2, 3].map((step) => `step_00000${step}.jsonl`),
	);
	const rollouts = (await readFile(join(run, 'rollouts', 'step_000002.jsonl'), 'utf8')).trim().split('\n');
	const first = JSON.parse(rollouts[0] as string);
	assert.equal(rollouts.length, 8);
	assert.deepEqual([first.step, first.reward, first.rewards.right], [2, 2, 1]);
	assert.equal(new Set(rollouts.map((line) => JSON.parse(line).group)).size, 2);
	const summary = JSON.parse(await readFile(join(run, 'evaluations', 'step_000000', 'validation.json'), 'utf8'));
	assert.deepEqual([summary.problems, summary.samples, summary.accuracy], [4, 1, 1]);
	const record = await readRecord(run);
	assert.deepEqual([record.status, record.step, record.engine], ['finished', 3, 'ray']);
	assert.equal((await readEvents(run)).at(-1)?.type, 'finished');
}

test('a verl run is mirrored from storage', { skip }, async () => {
	const { run, engine, runner } = await start('seen', { environment: { PYTHONPATH: standIn } });
	try {
		assert.equal(await engine.exit, 0, await why(run));
		await mirrored(run);
		const posts = runner.asked.filter((line) => line.startsWith('POST'));
		assert.deepEqual(posts, ['POST /api/jobs/']);
		assert.equal((await readRecord(run)).ray && true, true);
	} finally {
		await runner.stop();
	}
});

test('a verl run is mirrored from the job log if the storage is not accessible', { skip }, async () => {
	const home = join(folder, 'home');
	await mkdir(home);
	const { run, engine, runner } = await start('unseen', {
		environment: { PYTHONPATH: standIn, HOME: home },
		prepare: elsewhere,
	});
	try {
		assert.equal(await engine.exit, 0, await why(run));
		await mirrored(run);
		const { shared, folder: there } = (await readRecord(run)).ray as { shared: boolean; folder: string };
		assert.equal(shared, false);
		assert.ok(there.startsWith(home));
	} finally {
		await runner.stop();
	}
});

test('stopping ends the job, and features missing from verl are reported in one message', { skip }, async () => {
	const waiting = await start('waiting', { environment: { PYTHONPATH: standIn, STAND_IN_WAITS: '1' } });
	try {
		const deadline = Date.now() + 120_000;
		while ((await readRecord(waiting.run).catch(() => null))?.step !== 2) {
			if (Date.now() > deadline) throw new Error(`The run does not train: ${await why(waiting.run)}`);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		waiting.engine.stop();
		assert.equal(await waiting.engine.exit, 0);
		assert.equal((await readRecord(waiting.run)).status, 'stopped');
	} finally {
		await waiting.runner.stop();
	}
	const cases: [string, object, object, RegExp][] = [
		['lacks', {}, {}, /verl is not installed/],
		['fails', { PYTHONPATH: standIn, STAND_IN_FAILS: '1' }, {}, /verl exited with code 1/],
		['builtin', { PYTHONPATH: standIn }, { rewards: [{ use: 'accuracy' }] }, /built-in reward "accuracy"/],
	];
	for (const [name, environment, change, words] of cases) {
		const { run, engine, runner } = await start(name, { environment: environment as Record<string, string> }, change);
		try {
			assert.notEqual(await engine.exit, 0);
			const { status, error } = await readRecord(run);
			assert.equal(status, 'crashed');
			assert.match(error?.message ?? '', words);
			assert.ok(error?.action);
		} finally {
			await runner.stop();
		}
	}
});
