import assert from 'node:assert/strict';
import { Random } from '../../../../src/base/random.ts';
import type { Workplace } from './engineProcess.ts';
import { type RunOutcome, readOutcome } from './runOutcome.ts';

export interface KillReport {
	/** Milliseconds after its start at which each attempt was killed. */
	readonly kills: readonly number[];
}

export interface FinishedRun {
	/** Its folder. */
	readonly run: string;
	readonly outcome: RunOutcome;
	readonly milliseconds: number;
}

/** Runs a recipe to its end without disturbance. */
export async function uninterrupted(place: Workplace, recipe: object): Promise<FinishedRun> {
	const run = await place.prepare(recipe);
	const start = performance.now();
	const { code, stderr } = await place.run('--run', run);
	assert.equal(code, 0, stderr);
	const milliseconds = performance.now() - start;
	return { run, outcome: await readOutcome(run), milliseconds };
}

export interface KillOptions {
	/** How many runs are killed, each once or twice; default 1. */
	readonly moments?: number;
	readonly seed: number;
	/** An uninterrupted run of the recipe; default: one is made. */
	readonly whole?: FinishedRun;
	readonly onKill?: (report: KillReport) => void;
}

/**
 * Kills the engine (SIGKILL) at random moments, resumes it after each, and holds what the run ends with against the
 * uninterrupted one: metrics but for times, rollouts, evaluations, weights and moments, bit for bit.
 */
export async function checkKillResume(
	place: Workplace,
	recipe: object,
	{ moments = 1, seed, whole, onKill }: KillOptions,
): Promise<void> {
	const random = Random.of(seed, 'kill');
	const { outcome: expected, milliseconds } = whole ?? (await uninterrupted(place, recipe));
	for (let i = 0; i < moments; i++) {
		const run = await place.prepare(recipe);
		const kills: number[] = [];
		for (let attempt = 1 + random.int(2); attempt > 0; attempt--) {
			const after = Math.round(random.next() * milliseconds);
			const engine = place.start('--run', run, ...(kills.length === 0 ? [] : ['--resume']));
			const timer = setTimeout(() => engine.kill('SIGKILL'), after);
			const { code, signal, stderr } = await engine.exit;
			clearTimeout(timer);
			assert.ok(signal === 'SIGKILL' || code === 0, stderr);
			kills.push(after);
		}
		onKill?.({ kills });
		const { code, stderr } = await place.run('--run', run, '--resume');
		assert.equal(code, 0, stderr);
		const outcome = await readOutcome(run);
		const told = `killed after ${kills.join(' and ')} ms`;
		assert.deepEqual(outcome.metrics, expected.metrics, told);
		assert.deepEqual(outcome.rollouts, expected.rollouts, told);
		assert.deepEqual(outcome.evaluations, expected.evaluations, told);
		assert.equal(outcome.weights, expected.weights, told);
		assert.equal(outcome.optimizer, expected.optimizer, told);
		assert.deepEqual(outcome.heads, expected.heads, told);
	}
}
