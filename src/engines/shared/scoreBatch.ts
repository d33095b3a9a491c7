import { combineRewards } from '../../core/reward/combineRewards.ts';
import type { ScoreError, ScoreRow } from '../../protocol/scorer.ts';
import type { RewardScorer } from '../../rewards/createScorers.ts';
import type { RunnerScore } from '../../rewards/rewardRunner.ts';

/** Scores for a single row. */
export interface RowScore {
	/** Reward by column; null if it does not apply or failed. */
	readonly rewards: Readonly<Record<string, number | null>>;
	/** Error messages by column, or null if there are none. */
	readonly errors: Readonly<Record<string, string>> | null;
	/** Weighted sum. null if no reward applied, or if one failed and the sum is therefore unknown. */
	readonly reward: number | null;
}

/** Failures of a single reward in a batch. */
export interface RewardFailures {
	readonly column: string;
	readonly file: string | null;
	/** Whether the rows are episodes that the environment in the file failed to play. */
	readonly episodes?: boolean;
	/** Number of rows on which the reward failed, and total number of rows. */
	readonly failed: number;
	readonly rows: number;
	readonly first: ScoreError;
}

export interface BatchScore {
	readonly rows: readonly RowScore[];
	readonly failures: readonly RewardFailures[];
	/** Output printed by rewards, by column. */
	readonly output: ReadonlyMap<string, readonly string[]>;
	/** Values that Python rewards passed to TRL's `log_metric`, by name. */
	readonly metrics: Readonly<Record<string, number>>;
}

/** Maximum number of metrics that rewards can log per batch, and maximum length of their names. */
const maxMetrics = 50;
const longestName = 100;
/** Keys that a metrics.jsonl line already uses. */
const reservedNames = ['step', 'time', 'stage', '__proto__'];

/** Maximum length of an error message in a rollout, in UTF-16 code units. */
const longestMessage = 500;

/**
 * Scores a batch with every reward, running separate processes in parallel. Rejects only with `cancelled`.
 * @param known columns computed elsewhere, with one value per row
 */
export async function scoreBatch(
	scorers: readonly RewardScorer[],
	rows: readonly ScoreRow[],
	options: { readonly step: number; readonly signal: AbortSignal },
	known: Readonly<Record<string, readonly (number | null)[]>> = {},
): Promise<BatchScore> {
	const results = await Promise.all(
		scorers.map((scorer): Promise<RunnerScore> => {
			const { name } = scorer.column;
			const values = Object.hasOwn(known, name) ? known[name] : undefined;
			if (values === undefined) return scorer.score(rows, options);
			return Promise.resolve({ values, errors: [], logs: [], durationMs: 0 });
		}),
	);
	const rewards: Record<string, number | null>[] = rows.map(() => ({}));
	const errors: (Record<string, string> | null)[] = rows.map(() => null);
	const failures: RewardFailures[] = [];
	const output = new Map<string, readonly string[]>();
	const metrics: Record<string, number> = {};
	for (const [k, { values, errors: faults, logs, metrics: logged = {} }] of results.entries()) {
		const { name, file } = (scorers[k] as RewardScorer).column;
		if (logs.length > 0) output.set(name, logs);
		for (const [metric, value] of Object.entries(logged).slice(0, maxMetrics)) {
			if (metric !== '' && metric.length <= longestName && !reservedNames.includes(metric)) metrics[metric] = value;
		}
		const whole = faults.find(({ index }) => index < 0);
		const byRow = new Map(faults.map((fault) => [fault.index, fault]));
		let failed = 0;
		for (const [i, row] of rewards.entries()) {
			const fault = byRow.get(i) ?? whole;
			row[name] = fault === undefined ? (values[i] ?? null) : null;
			if (fault === undefined) continue;
			failed++;
			errors[i] = { ...errors[i], [name]: fault.message.slice(0, longestMessage) };
		}
		const first = faults[0];
		if (first !== undefined && failed > 0) failures.push({ column: name, file, failed, rows: rows.length, first });
	}
	const weights = scorers.map(({ column }) => column.weight);
	return {
		failures,
		output,
		metrics,
		rows: rewards.map((row, i) => {
			const values = scorers.map(({ column }) => row[column.name] ?? null);
			const error = errors[i] ?? null;
			return { rewards: row, errors: error, reward: error === null ? combineRewards(values, weights) : null };
		}),
	};
}

/** Describes failures in one sentence: the reward, the number of rows, the reason and the location. */
export function describeFailures({ column, file, episodes, failed, rows, first }: RewardFailures): string {
	const line = first.line === undefined ? '' : `, line ${first.line}`;
	const where = file === null ? '' : ` (${file}${line})`;
	const why = first.message.slice(0, longestMessage);
	if (episodes === true)
		return `The environment${where} failed in ${failed} of ${rows} episodes: ${why}`.replace(/[.]?$/, '.');
	return `Reward "${column}"${where} failed on ${failed} of ${rows} rows: ${why}`.replace(/[.]?$/, '.');
}
