import assert from 'node:assert/strict';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../../../src/base/random.ts';
import { runFiles } from '../../../../src/runs/runFiles.ts';
import { listCheckpoints, readEvents } from '../../../../src/runs/runReader.ts';
import { readRunState } from '../../../../src/runs/runStatus.ts';
import type { Workplace } from './engineProcess.ts';
import { runHere } from './runHere.ts';
import { type RunOutcome, readOutcome } from './runOutcome.ts';

export interface KillReport {
	/** Time from start to kill for each attempt, in milliseconds. */
	readonly kills: readonly number[];
}

export interface FinishedRun {
	/** Run folder. */
	readonly run: string;
	readonly outcome: RunOutcome;
	readonly milliseconds: number;
}

/**
 * Runs a recipe to the end without interruption.
 * @param here whether to run it in this process, which is faster than the processes that {@link checkKillResume} kills
 */
export async function uninterrupted(place: Workplace, recipe: object, here = false): Promise<FinishedRun> {
	const run = await place.prepare(recipe);
	const start = performance.now();
	const { code, stderr } = here ? await runHere(place, run) : await place.run('--run', run);
	assert.equal(code, 0, stderr);
	const milliseconds = performance.now() - start;
	return { run, outcome: await readOutcome(run), milliseconds };
}

/** Checks that metrics except times, rollouts, evaluations, weights and moments are bit-identical. */
function assertSame(outcome: RunOutcome, expected: RunOutcome, label: string): void {
	assert.deepEqual(outcome.metrics, expected.metrics, label);
	assert.deepEqual(outcome.rollouts, expected.rollouts, label);
	assert.deepEqual(outcome.evaluations, expected.evaluations, label);
	assert.equal(outcome.weights, expected.weights, label);
	assert.equal(outcome.optimizer, expected.optimizer, label);
	assert.deepEqual(outcome.heads, expected.heads, label);
}

/**
 * Resumes copies of a finished run in this process, each from an earlier checkpoint, and compares them with the run. A
 * copy looks like a run whose engine was killed, with everything that was written after the checkpoint still there. This
 * takes a fraction of the CPU time of {@link checkKillResume}, for tests of the state in a checkpoint.
 * @param run run that this process has finished
 * @param steps steps of the checkpoints
 */
export async function checkResume(
	place: Workplace,
	{ run, outcome: expected }: FinishedRun,
	...steps: readonly number[]
): Promise<void> {
	for (const step of steps) {
		const label = `resumed from step ${step}`;
		const copy = `${run}-resumed-${step}`;
		await cp(run, copy, { recursive: true });
		const checkpoints = await listCheckpoints(copy);
		assert.ok(
			checkpoints.some((checkpoint) => checkpoint.step === step),
			`checkpoints at ${checkpoints.map((checkpoint) => checkpoint.step)}`,
		);
		for (const checkpoint of checkpoints) {
			if (checkpoint.step > step) await rm(checkpoint.path, { recursive: true });
		}
		const path = join(copy, runFiles.record);
		const record = JSON.parse(await readFile(path, 'utf8'));
		// This process's ID with another start time: the process has ended.
		await writeFile(path, JSON.stringify({ ...record, status: 'running', processStart: '' }));
		assert.equal((await readRunState(copy)).status, 'crashed');
		const { code, stderr } = await runHere(place, copy, { resume: true });
		assert.equal(code, 0, stderr);
		const resumed = (await readEvents(copy)).findLast(({ type }) => type === 'resumed');
		assert.equal(resumed?.fromStep, step);
		assertSame(await readOutcome(copy), expected, label);
	}
}

export interface KillOptions {
	/** Number of runs to kill; default 1. */
	readonly moments?: number;
	/** Maximum number of kills of each run; default 1. */
	readonly kills?: number;
	readonly seed: number;
	/** Uninterrupted run of the recipe; default: run one. */
	readonly whole?: FinishedRun;
	readonly onKill?: (report: KillReport) => void;
}

/**
 * Kills the engine (SIGKILL) at random times, resumes it after each kill, and compares the final run with the
 * uninterrupted one.
 */
export async function checkKillResume(
	place: Workplace,
	recipe: object,
	{ moments = 1, kills: maxKills = 1, seed, whole, onKill }: KillOptions,
): Promise<void> {
	const random = Random.of(seed, 'kill');
	const { outcome: expected, milliseconds } = whole ?? (await uninterrupted(place, recipe));
	for (let i = 0; i < moments; i++) {
		const run = await place.prepare(recipe);
		const kills: number[] = [];
		for (let attempt = 1 + random.int(maxKills); attempt > 0; attempt--) {
			const after = Math.round(random.next() * milliseconds);
			const engine = place.start('--run', run, ...(kills.length === 0 ? [] : ['--resume']));
			const timer = setTimeout(() => engine.kill('SIGKILL'), after);
			const { code, signal, stderr } = await engine.exit;
			clearTimeout(timer);
			assert.ok(signal === 'SIGKILL' || code === 0, stderr);
			kills.push(after);
		}
		onKill?.({ kills });
		const { code, stderr } = await runHere(place, run, { resume: true });
		assert.equal(code, 0, stderr);
		assertSame(await readOutcome(run), expected, `killed after ${kills.join(' and ')} ms`);
	}
}
