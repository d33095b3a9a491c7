import type { RewardDescription } from '../protocol/rewardHost.ts';
import type { ScoreRow } from '../protocol/scorer.ts';

/** Arguments that every reward receives, regardless of the dataset's columns. */
const given = new Set(['prompts', 'completions', 'answer', 'trainer_state', 'log_extra', 'log_metric']);

/** Returns the row columns that a Python reward can request. TRL does not pass on `prompt` and `completion`. */
export function columnsOf(rows: readonly ScoreRow[]): string[] {
	const columns = new Set<string>();
	for (const row of rows) for (const name of Object.keys(row.row)) columns.add(name);
	for (const hidden of ['prompt', 'completion', 'completion_ids']) columns.delete(hidden);
	columns.add('answer');
	if (rows.length > 0 && rows.every((row) => row.completionIds !== undefined)) columns.add('completion_ids');
	return [...columns].sort();
}

/**
 * Returns one sentence that lists columns required by a reward but missing from the rows, or null if there are none.
 */
export function missingColumns(
	reward: Pick<RewardDescription, 'name' | 'required'>,
	rows: readonly ScoreRow[],
): string | null {
	const wanted = reward.required.filter((name) => !given.has(name));
	if (wanted.length === 0 || rows.length === 0) return null;
	const columns = columnsOf(rows);
	const missing = wanted.filter((name) => !columns.includes(name));
	if (missing.length === 0) return null;
	const names = missing.map((name) => `'${name}'`).join(', ');
	return `The data has no column ${names}, which "${reward.name}" requires. Available: ${columns.join(', ')}`;
}
