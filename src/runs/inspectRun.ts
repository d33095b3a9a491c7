import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { rolloutErrors } from '../core/trace/rolloutErrors.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import type { AnyRunRecord, RunStatus } from '../protocol/runRecord.ts';
import { ownFormat } from './annotationFolder.ts';
import { formats } from './importers/formats.ts';
import type { RolloutSplit, RunContent, RunFault } from './runContent.ts';
import { runStateOf } from './runStatus.ts';

/** Counts for a set of rollouts. Rollout, group and null are defined in docs/formats.md. */
export interface RolloutCounts {
	readonly groups: number;
	readonly rollouts: number;
	/** Number of rollouts without a reward. */
	readonly nulls: number;
	/** Mean of the non-null rewards; null if there are none. */
	readonly meanReward: number | null;
	/** Number of rollouts with an error or a failed reward. */
	readonly errored: number;
}

/** Rollout counts for one split. */
export interface RolloutNumbers extends RolloutCounts {
	/** null if the format has no steps. */
	readonly steps: readonly number[] | null;
	/** The same counts for each step, in the order of `steps`; null if the format has no steps. */
	readonly byStep: readonly (RolloutCounts & { readonly step: number })[] | null;
}

/** An error message from the trainer, with the number of rollouts it occurred in. */
export interface RolloutErrorCount {
	readonly message: string;
	readonly rollouts: number;
}

/** Progress of a run. */
export interface RunProgress {
	/** For foreign runs, derived from file times. */
	readonly status: RunStatus;
	/** null if another trainer's files contain no step. */
	readonly step: number | null;
	readonly totalSteps: number | null;
	/** Reason why the run ended; null if not recorded. */
	readonly error: string | null;
}

export interface Inspection extends RolloutNumbers {
	readonly folder: string;
	/** Name of the format. */
	readonly format: string;
	/** Display name of the trainer: "TRL". */
	readonly trainer: string;
	/** Evaluation rollouts, counted separately; null if there are none. */
	readonly validation: RolloutNumbers | null;
	/** Number of metrics rows, one per step. */
	readonly metricRows: number;
	/** null if the run record cannot be read. */
	readonly progress: RunProgress | null;
	/** Errors, most frequent first. */
	readonly errors: readonly RolloutErrorCount[];
	/** What the format does not record, and what was inferred instead. */
	readonly notes: readonly string[];
	/** Anything that could not be read. */
	readonly skipped: readonly RunFault[];
}

export type InspectProgress = (done: number, total: number) => void;

/** Reads an entire run and computes counts. Fails with `cancelled`. */
export async function inspectRun(
	run: RunContent,
	signal?: AbortSignalLike,
	progress: InspectProgress = () => undefined,
): Promise<Inspection> {
	const errors = new Map<string, number>();
	const train = await count(run, 'train', errors, signal, progress);
	const validation = await count(run, 'validation', errors, signal, () => undefined);
	let metricRows = 0;
	for await (const lines of run.metrics(signal)) metricRows += lines.length;
	const state = await runStateOf(() => run.record()).catch(() => null);
	const record = state?.record;
	const title = formats.find(({ name }) => name === run.format)?.title;
	return {
		folder: run.folder,
		format: run.format,
		trainer: run.format === ownFormat ? 'Reasoning Lab' : (title ?? run.format),
		...train,
		validation: validation.rollouts === 0 ? null : validation,
		metricRows,
		progress:
			state === null
				? null
				: {
						status: state.status,
						step: state.record.step,
						totalSteps: state.record.totalSteps,
						error: errorText(state.record),
					},
		errors: [...errors].map(([message, rollouts]) => ({ message, rollouts })).sort((a, b) => b.rollouts - a.rollouts),
		notes: record?.foreign?.notes ?? [],
		skipped: run.faults,
	};
}

function errorText({ error }: AnyRunRecord): string | null {
	return error === undefined ? null : [error.message, error.action].filter((part) => part !== undefined).join(' ');
}

/** Maximum number of distinct messages to track; rollouts with other messages are only counted. */
const maxErrors = 1000;

async function count(
	run: RunContent,
	split: RolloutSplit,
	errors: Map<string, number>,
	signal: AbortSignalLike | undefined,
	progress: InspectProgress,
): Promise<RolloutNumbers> {
	const steps = await run.steps(split);
	const all = new Counter();
	const byStep: (RolloutCounts & { readonly step: number })[] = [];
	for (const [i, step] of steps.entries()) {
		checkAborted(signal);
		progress(i, steps.length);
		const opened = await run.open(step, split).catch((error: unknown) => {
			// The rollouts were pruned while they were being read.
			if (Failure.from(error).reason === 'missing') return null;
			throw error;
		});
		const counter = new Counter();
		try {
			for await (const { rollout } of opened?.rollouts(signal) ?? []) {
				if (rollout !== null) counter.add(rollout, errors);
			}
		} finally {
			await opened?.close();
		}
		all.merge(counter);
		byStep.push({ step, ...counter.counts });
	}
	const { hasSteps } = run;
	return { steps: hasSteps ? steps : null, ...all.counts, byStep: hasSteps ? byStep : null };
}

/** Counts the rollouts of one step, or sums the counts of several. */
class Counter {
	readonly #seen = new Set<number>();
	#groups = 0;
	#rollouts = 0;
	#nulls = 0;
	#errored = 0;
	#sum = 0;

	add(rollout: RolloutLine, errors: Map<string, number>): void {
		this.#rollouts++;
		this.#seen.add(rollout.group);
		const wrong = new Set(rolloutErrors(rollout));
		if (wrong.size > 0) this.#errored++;
		for (const message of wrong) {
			if (errors.has(message) || errors.size < maxErrors) errors.set(message, (errors.get(message) ?? 0) + 1);
		}
		if (rollout.reward === null) this.#nulls++;
		else this.#sum += rollout.reward;
	}

	merge(other: Counter): void {
		this.#groups += other.#groups + other.#seen.size;
		this.#rollouts += other.#rollouts;
		this.#nulls += other.#nulls;
		this.#errored += other.#errored;
		this.#sum += other.#sum;
	}

	get counts(): RolloutCounts {
		const scored = this.#rollouts - this.#nulls;
		return {
			groups: this.#groups + this.#seen.size,
			rollouts: this.#rollouts,
			nulls: this.#nulls,
			meanReward: scored === 0 ? null : this.#sum / scored,
			errored: this.#errored,
		};
	}
}
