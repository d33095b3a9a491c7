import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { rolloutErrors } from '../core/trace/rolloutErrors.ts';
import type { AnyRunRecord, RunStatus } from '../protocol/runRecord.ts';
import { ownFormat } from './annotationFolder.ts';
import { formats } from './importers/formats.ts';
import type { RolloutSplit, RunContent, RunFault } from './runContent.ts';
import { runStateOf } from './runStatus.ts';

/** Counts of the rollouts of one split. */
export interface RolloutNumbers {
	/** null: the format has no steps. */
	readonly steps: readonly number[] | null;
	/** Prompts x steps. */
	readonly groups: number;
	readonly rollouts: number;
	/** Rollouts without a reward. */
	readonly nulls: number;
	/** Over the rewards that are there; null: none is. */
	readonly meanReward: number | null;
	/** Rollouts in which something went wrong, or whose reward failed. */
	readonly errored: number;
}

/** What went wrong in rollouts, in their trainer's words, and in how many. */
export interface RolloutErrorCount {
	readonly message: string;
	readonly rollouts: number;
}

/** How far a run came. */
export interface RunProgress {
	/** Of a foreign run as its files' times tell. */
	readonly status: RunStatus;
	/** null: another trainer's files state none. */
	readonly step: number | null;
	readonly totalSteps: number | null;
	/** Why it ended; null: nothing was recorded. */
	readonly error: string | null;
}

export interface Inspection extends RolloutNumbers {
	readonly folder: string;
	/** Name of the format. */
	readonly format: string;
	/** For a person: "TRL". */
	readonly trainer: string;
	/** Rollouts of evaluations, counted apart; null: there are none. */
	readonly validation: RolloutNumbers | null;
	/** Rows of metrics, one a step. */
	readonly metricRows: number;
	/** null: its record cannot be read. */
	readonly progress: RunProgress | null;
	/** The most frequent first. */
	readonly errors: readonly RolloutErrorCount[];
	/** What the format does not record, and what was inferred. */
	readonly notes: readonly string[];
	/** What could not be read. */
	readonly skipped: readonly RunFault[];
}

export type InspectProgress = (done: number, total: number) => void;

/** Reads all of a run and counts. Fails with `cancelled`. */
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

/** Messages that are distinguished; the rest are counted with the rollouts alone. */
const maxErrors = 1000;

async function count(
	run: RunContent,
	split: RolloutSplit,
	errors: Map<string, number>,
	signal: AbortSignalLike | undefined,
	progress: InspectProgress,
): Promise<RolloutNumbers> {
	const steps = await run.steps(split);
	let groups = 0;
	let rollouts = 0;
	let nulls = 0;
	let errored = 0;
	let sum = 0;
	for (const [i, step] of steps.entries()) {
		checkAborted(signal);
		progress(i, steps.length);
		const seen = new Set<number>();
		const opened = await run.open(step, split).catch((error: unknown) => {
			// Pruned while this was reading.
			if (Failure.from(error).reason === 'missing') return null;
			throw error;
		});
		if (opened === null) continue;
		try {
			for await (const { rollout } of opened.rollouts(signal)) {
				if (rollout === null) continue;
				rollouts++;
				seen.add(rollout.group);
				const wrong = new Set(rolloutErrors(rollout));
				if (wrong.size > 0) errored++;
				for (const message of wrong) {
					if (errors.has(message) || errors.size < maxErrors) errors.set(message, (errors.get(message) ?? 0) + 1);
				}
				if (rollout.reward === null) nulls++;
				else sum += rollout.reward;
			}
		} finally {
			await opened.close();
		}
		groups += seen.size;
	}
	const meanReward = rollouts === nulls ? null : sum / (rollouts - nulls);
	return { steps: run.hasSteps ? steps : null, groups, rollouts, nulls, meanReward, errored };
}
