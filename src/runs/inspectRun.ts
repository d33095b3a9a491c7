import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { ownFormat } from './annotationFolder.ts';
import { formats } from './importers/formats.ts';
import type { RolloutSplit, RunContent, RunFault } from './runContent.ts';

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
	const train = await count(run, 'train', signal, progress);
	const validation = await count(run, 'validation', signal, () => undefined);
	let metricRows = 0;
	for await (const lines of run.metrics(signal)) metricRows += lines.length;
	const record = await run.record().catch(() => null);
	const title = formats.find(({ name }) => name === run.format)?.title;
	return {
		folder: run.folder,
		format: run.format,
		trainer: run.format === ownFormat ? 'Reasoning Lab' : (title ?? run.format),
		...train,
		validation: validation.rollouts === 0 ? null : validation,
		metricRows,
		notes: record?.foreign?.notes ?? [],
		skipped: run.faults,
	};
}

async function count(
	run: RunContent,
	split: RolloutSplit,
	signal: AbortSignalLike | undefined,
	progress: InspectProgress,
): Promise<RolloutNumbers> {
	const steps = await run.steps(split);
	let groups = 0;
	let rollouts = 0;
	let nulls = 0;
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
				if (rollout.reward === null) nulls++;
				else sum += rollout.reward;
			}
		} finally {
			await opened.close();
		}
		groups += seen.size;
	}
	const meanReward = rollouts === nulls ? null : sum / (rollouts - nulls);
	return { steps: run.hasSteps ? steps : null, groups, rollouts, nulls, meanReward };
}
