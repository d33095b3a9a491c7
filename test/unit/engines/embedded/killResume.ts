import assert from 'node:assert/strict';
import { Random } from '../../../../src/base/random.ts';
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
 * uninterrupted one: metrics except times, rollouts, evaluations, weights and moments must be bit-identical.
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
		const outcome = await readOutcome(run);
		const label = `killed after ${kills.join(' and ')} ms`;
		assert.deepEqual(outcome.metrics, expected.metrics, label);
		assert.deepEqual(outcome.rollouts, expected.rollouts, label);
		assert.deepEqual(outcome.evaluations, expected.evaluations, label);
		assert.equal(outcome.weights, expected.weights, label);
		assert.equal(outcome.optimizer, expected.optimizer, label);
		assert.deepEqual(outcome.heads, expected.heads, label);
	}
}
