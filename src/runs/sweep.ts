import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { survivors } from '../core/sweep/sweepPlan.ts';
import { FileLock } from '../files/fileLock.ts';
import { requireInside } from '../files/ownFolder.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { type SweepRecord, type SweepTrial, sweepFiles } from '../protocol/sweepFile.ts';
import { engineReleased } from './engineRelease.ts';
import { annotateRun } from './runActions.ts';
import { readMetrics } from './runReader.ts';
import { claimsLife, readRunState } from './runStatus.ts';
import { resumeRun, type StartOptions, startRun } from './startRun.ts';
import { stopEngine } from './stopRun.ts';
import { readSweep, sweepRecipe, writeSweep } from './sweepFolder.ts';

export interface SweepOptions {
	readonly start: StartOptions;
	/** Aborting stops the current run with a checkpoint and ends the sweep. */
	readonly signal: AbortSignal;
	readonly onProgress: (progress: SweepProgress) => void;
	/** Interval between checks of the current run, in milliseconds. */
	readonly pollMs?: number;
}

export interface SweepProgress {
	readonly rung: number;
	/** Trial index. */
	readonly index: number;
	/** null if the run could not be started. */
	readonly folder: string | null;
	readonly step: number;
	readonly score: number | null;
	readonly status?: RunRecord['status'];
	/** Why the run could not be started or resumed. */
	readonly failure?: Failure;
}

/**
 * Runs a sweep from its current state, one run at a time: each run trains up to the next rung and is stopped with a
 * checkpoint, and the best ones are resumed. A stopped and resumed run has the same results as an uninterrupted one. A
 * run that crashes, pauses on its own or cannot start is not resumed. `sweep.json` is written before and after each
 * run, so that a sweep that was stopped or killed continues with the same runs. Fails with `busy` if another process is
 * running it, and with `mismatch` if the recipe has changed.
 * @returns the record after the sweep has ended
 */
export async function runSweep(folder: string, options: SweepOptions): Promise<SweepRecord> {
	const lock = await FileLock.acquire(join(folder, sweepFiles.lock), `The sweep ${folder}`);
	try {
		const record = await readSweep(folder);
		return await new Sweep(resolve(folder), record, await sweepRecipe(folder, record), options).run();
	} finally {
		await lock.release();
	}
}

class Sweep {
	readonly #folder: string;
	readonly #recipe: string;
	readonly #options: SweepOptions;
	#record: SweepRecord;

	constructor(folder: string, record: SweepRecord, recipe: string, options: SweepOptions) {
		this.#folder = folder;
		this.#record = record;
		this.#recipe = recipe;
		this.#options = options;
	}

	async run(): Promise<SweepRecord> {
		for (const rung of this.#record.rungs.keys()) {
			const open = this.#record.open[rung] ?? this.#choose(rung);
			// Record this first, because the scores used for the decision are replaced by those of this rung.
			this.#record = {
				...this.#record,
				open: [...this.#record.open.slice(0, rung), open, ...this.#record.open.slice(rung + 1)],
			};
			await this.#write();
			for (const index of open) {
				if (this.#trial(index).rung >= rung) continue;
				if (this.#options.signal.aborted) return this.#record;
				await this.#train(index, rung);
			}
		}
		return this.#record;
	}

	#choose(rung: number): number[] {
		const before = rung === 0 ? [...this.#record.trials.keys()] : (this.#record.open[rung - 1] ?? []);
		if (rung === 0) return before;
		const able = before.filter((index) => !['crashed', 'paused'].includes(this.#trial(index).status ?? ''));
		const scores = able.map((index) => this.#trial(index).score);
		return survivors(scores, this.#record.counts[rung] ?? 1).map((i) => able[i] as number);
	}

	#trial(index: number): SweepTrial {
		return this.#record.trials[index] as SweepTrial;
	}

	async #change(index: number, change: Partial<SweepTrial>): Promise<void> {
		const trials = this.#record.trials.map((trial, i) => (i === index ? { ...trial, ...change } : trial));
		this.#record = { ...this.#record, trials };
		await this.#write();
	}

	#write(): Promise<void> {
		return writeSweep(this.#folder, this.#record);
	}

	/** Trains a run up to a rung. If the sweep is stopped before then, the run keeps its previous rung. */
	async #train(index: number, rung: number): Promise<void> {
		const { metric, rungs } = this.#record;
		const until = rung === rungs.length - 1 ? null : (rungs[rung] as number);
		const started = await this.#start(index, until).catch((error: unknown) => Failure.from(error));
		if (started instanceof Failure) {
			const { run, step } = this.#trial(index);
			const folder = run === null ? null : join(dirname(this.#folder), run);
			await this.#change(index, { score: null, status: 'crashed', rung });
			this.#options.onProgress({ rung, index, folder, step, score: null, failure: started });
			return;
		}
		const { folder } = started;
		const { status, step, canceled } = await this.#follow(folder, started.attempt, until);
		const score = await scoreOf(folder, metric, until);
		await this.#change(index, { score, step, status, rung: canceled ? this.#trial(index).rung : rung });
		this.#options.onProgress({ rung, index, folder, step, score, status });
	}

	/** Starts, resumes or finds a trial's run. */
	async #start(index: number, until: number | null): Promise<{ readonly folder: string; readonly attempt: number }> {
		const { run, set, seed, label } = this.#trial(index);
		const { start } = this.#options;
		if (run !== null) {
			const folder = await requireInside(dirname(this.#folder), run);
			const state = await readRunState(folder).catch(() => null);
			const there = state !== null && (claimsLife(state) || state.status === 'finished');
			const stoppedAtRung = state?.status === 'stopped' && until !== null && state.record.step >= until;
			if (there || stoppedAtRung) return { folder, attempt: state.record.attempt };
			const { record } = await resumeRun(folder, start);
			return { folder, attempt: record.attempt };
		}
		let recorded: Promise<unknown> = Promise.resolve();
		const { folder, record } = await startRun(
			this.#recipe,
			{ set: [...set], ...(seed === null ? {} : { seed }) },
			{
				...start,
				onFolder: (made) => {
					recorded = this.#change(index, { run: basename(made) }).then(() =>
						annotateRun(made, { name: label, tags: [this.#record.tag] }),
					);
				},
			},
		).catch(async (error: unknown) => {
			await recorded.catch(() => undefined);
			// If a run's data was rejected, its folder no longer exists.
			await this.#change(index, { run: null });
			throw error;
		});
		await recorded;
		return { folder, attempt: record.attempt };
	}

	/** Waits for a run to end. Stops it at the given step, if it pauses on its own, or if the sweep is stopped. */
	async #follow(folder: string, attempt: number, until: number | null) {
		const { signal, pollMs = 300 } = this.#options;
		let stopping = false;
		let paused = false;
		let canceled = false;
		for (;;) {
			const state = await readRunState(folder);
			const { step } = state.record;
			paused ||= state.status === 'paused' && !stopping;
			const reached = until !== null && step >= until;
			if (state.record.attempt >= attempt && !claimsLife(state)) {
				await engineReleased(folder, state.record);
				canceled &&= state.status === 'stopped' && !reached;
				// A run that requires attention would pause again.
				return { status: paused ? ('paused' as const) : state.status, step, canceled };
			}
			if (!stopping && (reached || paused || signal.aborted)) {
				canceled = signal.aborted && !reached && !paused;
				// Retry if the engine does not respond. If the run has just ended, the next check detects it.
				stopping = await stopEngine(folder, state.record, true).then(
					() => true,
					() => false,
				);
				if (stopping) continue;
			}
			await new Promise((resolve) => setTimeout(resolve, pollMs));
		}
	}
}

/**
 * Returns the latest value of a metric at or before a step, so that runs stopped a few steps later are compared at the
 * same point. Rewards are averaged over the last tenth of the steps, because single steps are noisy.
 */
async function scoreOf(folder: string, metric: string, until: number | null): Promise<number | null> {
	const lines = (await readMetrics(folder)).filter(({ step }) => until === null || step <= until);
	const values = lines.flatMap(({ values: { [metric]: value } }) => (typeof value === 'number' ? [value] : []));
	if (values.length === 0) return null;
	if (metric.startsWith('eval/')) return values.at(-1) ?? null;
	const tail = values.slice(-Math.max(1, Math.ceil(values.length / 10)));
	return tail.reduce((sum, value) => sum + value, 0) / tail.length;
}
