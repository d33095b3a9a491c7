import { join } from 'node:path';
import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import { combineRewards } from '../core/reward/combineRewards.ts';
import { rolloutScoreRow } from '../core/reward/verification/rowsToVerify.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import type { ScoreError } from '../protocol/scorer.ts';
import { checkRewardCopies, rewardCopyPath } from '../runs/rewardCopies.ts';
import { runFiles } from '../runs/runFiles.ts';
import { listRolloutSteps, readResolvedRecipe, readRollouts } from '../runs/runReader.ts';
import { createScorers, type RewardScorer, type RunnerSource } from './createScorers.ts';

/** A rollout whose value differs from the recorded value. */
export interface RescoreDifference {
	readonly step: number;
	readonly group: number;
	readonly index: number;
	/** Column name; "reward" for the weighted sum. */
	readonly reward: string;
	/** "error" if the reward failed; undefined if the run has no such column. */
	readonly recorded: number | null | 'error' | undefined;
	readonly now: number | null | 'error';
	/** Error message of the current failure. */
	readonly error?: string;
}

export interface RescoredColumn {
	/** Name in metrics and rollouts; "reward" for the weighted sum. */
	readonly name: string;
	/** File name in the run's recipe; null for a built-in reward. */
	readonly file: string | null;
	readonly rows: number;
	readonly equal: number;
	readonly different: number;
	/** Number of rows on which the reward failed in the run, and number on which it fails now. */
	readonly failedThen: number;
	readonly failedNow: number;
}

/** Result of rescoring a run's recorded rollouts with the run's own copies of its rewards. */
export interface Rescoring {
	readonly run: string;
	readonly steps: readonly number[];
	readonly rows: number;
	readonly equal: boolean;
	readonly columns: readonly RescoredColumn[];
	/** The first differences found, up to the limit. */
	readonly differences: readonly RescoreDifference[];
	readonly remarks: readonly string[];
}

export interface RescoreOptions {
	readonly hosts: RunnerSource;
	/** Restricts rescoring to the steps from `first` to `last`. */
	readonly steps?: { readonly first: number; readonly last: number };
	/** Maximum number of differences to report individually. Default 20. */
	readonly differences?: number;
	readonly signal?: AbortSignal;
	readonly onProgress?: (done: number, total: number) => void;
}

/** Counts for one column during the comparison. */
class Tally {
	readonly name: string;
	readonly file: string | null;
	rows = 0;
	equal = 0;
	failedThen = 0;
	failedNow = 0;

	constructor(name: string, file: string | null) {
		this.name = name;
		this.file = file;
	}

	/** @returns whether the values are equal */
	add(recorded: RescoreDifference['recorded'], now: RescoreDifference['now']): boolean {
		this.rows++;
		if (recorded === 'error') this.failedThen++;
		if (now === 'error') this.failedNow++;
		const same = recorded === now;
		if (same) this.equal++;
		return same;
	}

	result(): RescoredColumn {
		const { name, file, rows, equal, failedThen, failedNow } = this;
		return { name, file, rows, equal, different: rows - equal, failedThen, failedNow };
	}
}

const failedThen = (line: RolloutLine, name: string): boolean => {
	const errors = line.extra?.errors;
	return typeof errors === 'object' && errors !== null && Object.hasOwn(errors, name);
};

/**
 * Rescores every recorded rollout of a run, in whole generation batches and in order, using the run's own copies of its
 * reward files and its original recipe. Values are equal if they are the same number, both null, or both failed. Fails
 * with `missing` if the run has no rollouts, with `mismatch` if its copies have changed, and otherwise with the same
 * errors as `createScorers`.
 */
export async function rescoreRun(run: string, options: RescoreOptions): Promise<Rescoring> {
	const { hosts, signal, onProgress, steps: range, differences: max = 20 } = options;
	const recipe = decodeResolvedRecipe(await readResolvedRecipe(run), join(run, runFiles.recipe));
	await checkRewardCopies(run, recipe);
	const steps = (await listRolloutSteps(run)).filter(
		(step) => range === undefined || (step >= range.first && step <= range.last),
	);
	if (steps.length === 0) {
		throw new Failure(
			'missing',
			`${run} has no rollouts${range === undefined ? '' : ` for steps ${range.first} to ${range.last}`}.`,
			'Choose a run that has a GRPO stage, or different steps.',
		);
	}
	const scorers = await createScorers({
		recipe,
		folder: run,
		locate: (file) => rewardCopyPath(run, recipe, file),
		hosts,
		...(signal === undefined ? {} : { signal }),
	});
	try {
		const tallies = scorers.scorers.map(({ column }) => new Tally(column.name, column.file));
		const sum = new Tally('reward', null);
		const differences: RescoreDifference[] = [];
		const played = new Set(
			recipe.rewards.flatMap((reward) => ('use' in reward && reward.use === 'environment' ? [reward.name] : [])),
		);
		let rows = 0;
		for (const [n, step] of steps.entries()) {
			checkAborted(signal);
			const lines = await readRollouts(run, step);
			const scored = await scoreStep(scorers.scorers, played, lines, step, signal);
			for (const [i, line] of lines.entries()) {
				const { group, index } = line;
				const note = (
					tally: Tally,
					recorded: RescoreDifference['recorded'],
					now: RescoreDifference['now'],
					error?: string,
				) => {
					if (tally.add(recorded, now) || differences.length >= max) return;
					differences.push({ step, group, index, reward: tally.name, recorded, now, ...(error ? { error } : {}) });
				};
				for (const [k, tally] of tallies.entries()) {
					const { value, error } = (scored[k] as Scored[])[i] as Scored;
					const recorded = failedThen(line, tally.name) ? 'error' : line.rewards[tally.name];
					note(tally, recorded, error === undefined ? value : 'error', error?.message);
				}
				const values = scored.map((column) => (column[i] as Scored).value);
				const failed = scored.some((column) => (column[i] as Scored).error !== undefined);
				const weights = scorers.scorers.map(({ column }) => column.weight);
				note(sum, line.reward, failed ? null : combineRewards(values, weights));
			}
			rows += lines.length;
			onProgress?.(n + 1, steps.length);
		}
		const columns = [...tallies, sum].map((tally) => tally.result());
		const resampled = recipe.stages.some((stage) => stage.type === 'grpo' && stage.dynamic_sampling);
		const wholes = scorers.scorers.filter(({ column }) => column.batchOnly).map(({ column }) => column.name);
		return {
			run,
			steps,
			rows,
			equal: columns.every(({ different }) => different === 0),
			columns,
			differences,
			remarks: [
				...(resampled && wholes.length > 0
					? [
							`With dynamic_sampling, the recorded batches are not the batches that were scored, so values of ${wholes.join(', ')}, which depend on the whole batch, may differ.`,
						]
					: []),
				...[...played].map(
					(name) =>
						`"${name}" is the environment's reward. Its recorded values are used, because episodes are not rerun.`,
				),
			],
		};
	} finally {
		scorers.dispose();
	}
}

interface Scored {
	readonly value: number | null;
	readonly error?: ScoreError;
}

/**
 * Returns values by column, then by row.
 * @param played names of columns whose values come only from an episode; their recorded values are returned
 */
async function scoreStep(
	scorers: readonly RewardScorer[],
	played: ReadonlySet<string>,
	lines: readonly RolloutLine[],
	step: number,
	signal: AbortSignal | undefined,
): Promise<Scored[][]> {
	const rows = lines.map(rolloutScoreRow);
	// A batch is stored under the first step that uses it, so one fewer update had been completed.
	const options = { step: step - 1, ...(signal === undefined ? {} : { signal }) };
	const results = await Promise.all(
		scorers.map((scorer) => (played.has(scorer.column.name) ? null : scorer.score(rows, options))),
	);
	return results.map((result, k) => {
		const { name } = (scorers[k] as RewardScorer).column;
		if (result === null) return lines.map((line) => recordedScore(line, name));
		const { values, errors } = result;
		const byRow = new Map(errors.map((error) => [error.index, error]));
		return rows.map((_, i) => {
			const error = byRow.get(i) ?? byRow.get(-1);
			return error === undefined ? { value: values[i] ?? null } : { value: null, error };
		});
	});
}

function recordedScore(line: RolloutLine, name: string): Scored {
	if (!failedThen(line, name)) return { value: line.rewards[name] ?? null };
	return { value: null, error: { index: -1, kind: 'invalid', message: 'The episode failed.' } };
}
