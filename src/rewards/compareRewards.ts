import { basename } from 'node:path';
import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { goldText } from '../core/dataset/answer.ts';
import { type AdvantageSettings, advantageSettings } from '../core/grpo/advantages/advantageSettings.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { combineRewards } from '../core/reward/combineRewards.ts';
import { compareRows } from '../core/reward/comparison.ts';
import type { Comparison } from '../protocol/comparison.ts';
import type { ScoreRow } from '../protocol/scorer.ts';
import { type RecordedRollouts, readRecordedRollouts } from './recordedRollouts.ts';
import type { RewardRunner } from './rewardRunner.ts';

/** One side of a comparison. */
export type ComparedSide =
	/** A reward that rescores the rollouts. Examples of `label`: "HEAD", "working copy", "rewards/a.reward.py". */
	| { readonly label: string; readonly runner: RewardRunner; readonly reward: string }
	/** The recorded values of the run's rewards under these weights; unlisted rewards keep their recipe weights. */
	| { readonly weights: Readonly<Record<string, number>> };

export interface CompareRequest {
	/** Folder of the run whose rollouts are rescored. */
	readonly run: string;
	readonly before: ComparedSide;
	readonly after: ComparedSide;
	/** Maximum number of generation batches, newest first. Default 20. */
	readonly steps?: number;
	/** Maximum number of rows in total. Batches are never split, and the newest is always included. Default 8,192. */
	readonly rows?: number;
	/** Timeout per batch. Default: the runner's limit. */
	readonly timeoutMs?: number;
	readonly signal?: AbortSignal;
	readonly onProgress?: (done: number, total: number) => void;
}

export const comparisonDefaults = { steps: 20, rows: 8_192 } as const;

interface Side {
	readonly label: string;
	readonly values: readonly (number | null)[];
	readonly errors: readonly (string | undefined)[];
	readonly remarks: readonly string[];
}

/** Returns the positions of rows that the run scored together. */
function batchesOf({ rows }: RecordedRollouts): number[][] {
	const batches = new Map<number, number[]>();
	for (const [i, { batch }] of rows.entries()) {
		const members = batches.get(batch) ?? [];
		batches.set(batch, members);
		members.push(i);
	}
	return [...batches.values()];
}

async function scoreSide(
	side: Extract<ComparedSide, { runner: unknown }>,
	recorded: RecordedRollouts,
	{ timeoutMs, signal }: CompareRequest,
	onBatch: () => void,
): Promise<Side> {
	const values: (number | null)[] = recorded.rows.map(() => null);
	const errors: (string | undefined)[] = recorded.rows.map(() => undefined);
	for (const members of batchesOf(recorded)) {
		checkAborted(signal);
		const rows = members.map((i) => recorded.rows[i]?.row as ScoreRow);
		const result = await side.runner.score(side.reward, rows, {
			...(timeoutMs === undefined ? {} : { timeoutMs }),
			...(signal === undefined ? {} : { signal }),
		});
		for (const [at, i] of members.entries()) values[i] = result.values[at] ?? null;
		for (const { index, message } of result.errors) {
			for (const i of index < 0 ? members : [members[index]]) {
				if (i === undefined) continue;
				values[i] = null;
				errors[i] ??= message;
			}
		}
		onBatch();
	}
	const failed = errors.filter((error) => error !== undefined);
	const remarks =
		failed.length === 0 ? [] : [`${side.label} fails on ${formatCounted(failed.length, 'row')}: ${failed[0]}`];
	return { label: side.label, values, errors, remarks };
}

/** Returns the recipe's weights for the recorded columns, and the columns without a weight in the recipe. */
function recipeWeights(columns: readonly string[], recipe: ResolvedRecipe | null) {
	const weights = new Map<string, number>();
	const unknown: string[] = [];
	for (const column of columns) {
		const entry = recipe?.rewards.find((reward) => reward.name === column);
		if (entry?.weight !== undefined && entry.weight !== null) weights.set(column, entry.weight);
		else {
			weights.set(column, 1);
			unknown.push(column);
		}
	}
	return { weights, unknown };
}

function weighSide({ weights }: Extract<ComparedSide, { weights: unknown }>, recorded: RecordedRollouts): Side {
	const columns = [...new Set(recorded.lines.flatMap(({ rewards }) => Object.keys(rewards)))];
	const own = recipeWeights(columns, recorded.recipe);
	for (const name of Object.keys(weights)) {
		if (columns.includes(name)) continue;
		throw new Failure(
			'invalid',
			`Run ${basename(recorded.run)} has no recorded values for reward "${name}".`,
			columns.length === 0 ? 'Choose a different run.' : `Recorded rewards: ${columns.join(', ')}.`,
		);
	}
	const used = columns.map((name) => weights[name] ?? own.weights.get(name) ?? 1);
	const unknown = own.unknown.filter((name) => weights[name] === undefined);
	return {
		label: `weights ${columns.map((name, i) => `${name} ${used[i]}`).join(', ')}`,
		values: recorded.lines.map(({ rewards }) =>
			combineRewards(
				columns.map((name) => rewards[name] ?? null),
				used,
			),
		),
		errors: recorded.lines.map(() => undefined),
		remarks: unknown.length === 0 ? [] : [`The recipe has no weight for ${unknown.join(', ')}. Using 1.`],
	};
}

function settingsOf(recipe: ResolvedRecipe | null): { settings: AdvantageSettings; remarks: string[] } {
	const stage = recipe?.stages.find(({ type }) => type === 'grpo');
	if (stage?.type === 'grpo') return { settings: advantageSettings(stage), remarks: [] };
	return {
		settings: advantageSettings({}),
		remarks: ["Cannot read the run's recipe. Advantages are divided by the group standard deviation."],
	};
}

/**
 * Compares two rewards, or two sets of weights, on a run's recorded rollouts. Reward errors are part of the result.
 * Rejects with `cancelled` if aborted, with `missing` if the run has no rollouts, and with `invalid` for weights of
 * rewards that the run does not have. Also rejects if a file cannot be loaded or run (see `RewardRunner.score`).
 */
export async function compareRewards(request: CompareRequest): Promise<Comparison> {
	const { run, before, after, signal, onProgress } = request;
	const { steps = comparisonDefaults.steps, rows = comparisonDefaults.rows } = request;
	const recorded = await readRecordedRollouts(run, {
		rows,
		newest: steps,
		numbers: { batch: 0, group: 0 },
		...(signal === undefined ? {} : { signal }),
	});
	const { settings, remarks } = settingsOf(recorded.recipe);
	const scored = [before, after].filter((side) => 'runner' in side).length;
	const total = scored * recorded.steps.length;
	let done = 0;
	const side = (one: ComparedSide) =>
		'runner' in one
			? scoreSide(one, recorded, request, () => onProgress?.(++done, total))
			: Promise.resolve(weighSide(one, recorded));
	// Run sequentially: both sides may share a process, and the user is working on this machine.
	const old = await side(before);
	const now = await side(after);
	const compared = compareRows(
		recorded.rows.map(({ row }, i) => {
			const line = recorded.lines[i] as RecordedRollouts['lines'][number];
			const errors = [old, now].flatMap(({ label, errors }) =>
				errors[i] === undefined ? [] : [`${label}: ${errors[i]}`],
			);
			return {
				step: line.step,
				group: line.group,
				index: line.index,
				prompt: row.prompt,
				completion: row.completion,
				answer: goldText(row.answer),
				truncated: row.truncated,
				before: old.values[i] ?? null,
				after: now.values[i] ?? null,
				...(errors.length === 0 ? {} : { error: errors.join(' ') }),
			};
		}),
		settings,
	);
	return {
		format: 1,
		before: old.label,
		after: now.label,
		run,
		...compared,
		remarks: [...new Set([...recorded.remarks, ...remarks, ...old.remarks, ...now.remarks])],
	};
}
