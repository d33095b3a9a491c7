import { Failure } from '../base/failure.ts';
import { type SweepConfiguration, type SweepPlan, survivors } from '../core/sweep/sweepPlan.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { engineReleased } from './engineRelease.ts';
import { annotateRun } from './runActions.ts';
import { readMetrics } from './runReader.ts';
import { claimsLife, readRunState } from './runStatus.ts';
import { resumeRun, type StartOptions, startRun } from './startRun.ts';
import { stopEngine } from './stopRun.ts';

export interface SweepOptions {
	readonly recipe: string;
	readonly configurations: readonly SweepConfiguration[];
	readonly plan: SweepPlan;
	/** Metric by which runs are compared; the larger the better. */
	readonly metric: string;
	/** Tag of the runs, by which the table of runs finds them. */
	readonly tag: string;
	readonly start: StartOptions;
	/** Aborting stops the current run with a checkpoint and ends the sweep. */
	readonly signal: AbortSignal;
	readonly onProgress: (progress: SweepProgress) => void;
	/** Interval for checking the current run, in milliseconds. */
	readonly pollMs?: number;
}

export interface SweepProgress {
	readonly rung: number;
	/** Index of the configuration. */
	readonly index: number;
	/** null if the run could not be started. */
	readonly folder: string | null;
	readonly step: number;
	readonly score: number | null;
	readonly status?: RunRecord['status'];
	/** Why the run could not be started or resumed. */
	readonly failure?: Failure;
}

export interface SweepResult {
	readonly configuration: SweepConfiguration;
	/** null if the sweep was stopped before this run. */
	readonly folder: string | null;
	readonly score: number | null;
	readonly step: number;
	readonly status: RunRecord['status'] | null;
	/** Last rung that the run was trained for. */
	readonly rung: number;
}

interface Trial extends SweepResult {
	readonly index: number;
}

/**
 * Runs a sweep, one run after the other: each is trained until the rung, then stopped with a checkpoint, and the best
 * ones are resumed. A stopped and resumed run has the numbers of an uninterrupted one. A run that crashes, pauses on its
 * own or cannot start is not resumed.
 * @returns one result per configuration, in their order
 */
export async function runSweep(options: SweepOptions): Promise<SweepResult[]> {
	const { configurations, plan, signal } = options;
	const trials: Trial[] = configurations.map((configuration, index) => ({
		...{ configuration, index, folder: null, score: null, step: 0, status: null, rung: -1 },
	}));
	let open = trials.map(({ index }) => index);
	for (const [rung, until] of plan.rungs.entries()) {
		if (rung > 0) {
			const able = open.filter((index) => !['crashed', 'paused'].includes(trials[index]?.status ?? ''));
			const scores = able.map((index) => trials[index]?.score ?? null);
			open = survivors(scores, plan.counts[rung] as number).map((i) => able[i] as number);
		}
		for (const index of open) {
			if (signal.aborted) return trials;
			const last = rung === plan.rungs.length - 1;
			trials[index] = await train(trials[index] as Trial, { rung, until: last ? null : until }, options);
		}
	}
	return trials;
}

/** @param until step to stop at, or null to train to the end */
async function train(
	trial: Trial,
	{ rung, until }: { readonly rung: number; readonly until: number | null },
	{ recipe, metric, tag, start, signal, onProgress, pollMs = 300 }: SweepOptions,
): Promise<Trial> {
	if (trial.status === 'finished') return { ...trial, rung };
	const { set, seed } = trial.configuration;
	const changes = { set: [...set], ...(seed === null ? {} : { seed }) };
	const started = await (trial.folder === null
		? startRun(recipe, changes, start)
		: resumeRun(trial.folder, start)
	).catch((error: unknown) => Failure.from(error));
	if (started instanceof Failure) {
		onProgress({ rung, index: trial.index, folder: trial.folder, step: trial.step, score: null, failure: started });
		return { ...trial, score: null, status: 'crashed', rung };
	}
	const { folder, record } = started;
	if (trial.folder === null) await annotateRun(folder, { name: trial.configuration.label, tags: [tag] });
	let stopping = false;
	let paused = false;
	for (;;) {
		const state = await readRunState(folder);
		paused ||= state.status === 'paused' && !stopping;
		const over = state.record.attempt >= record.attempt && !claimsLife(state);
		if (over) {
			await engineReleased(folder, state.record);
			const score = await scoreOf(folder, metric, until);
			// A run that needs attention would pause again.
			const status = paused ? 'paused' : state.status;
			onProgress({ ...{ rung, index: trial.index, folder, step: state.record.step, score, status } });
			return { ...trial, folder, score, step: state.record.step, status, rung };
		}
		const reached = until !== null && (state.record.step ?? 0) >= until;
		if (!stopping && (reached || paused || signal.aborted)) {
			// An engine that does not answer is asked again. If the run has just ended, the next look shows it.
			stopping = await stopEngine(folder, state.record, true).then(
				() => true,
				() => false,
			);
			if (stopping) continue;
		}
		await new Promise((resolve) => setTimeout(resolve, pollMs));
	}
}

/**
 * Returns the latest value of a metric at or before a step, so that runs that were stopped a few steps later are
 * compared at the same point. Rewards are averaged over the last tenth of the steps, because single steps are noisy.
 */
async function scoreOf(folder: string, metric: string, until: number | null): Promise<number | null> {
	const lines = (await readMetrics(folder)).filter(({ step }) => until === null || step <= until);
	const values = lines.flatMap(({ values: { [metric]: value } }) => (typeof value === 'number' ? [value] : []));
	if (values.length === 0) return null;
	if (metric.startsWith('eval/')) return values.at(-1) ?? null;
	const tail = values.slice(-Math.max(1, Math.ceil(values.length / 10)));
	return tail.reduce((sum, value) => sum + value, 0) / tail.length;
}
