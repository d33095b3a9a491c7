import { Failure } from '../base/failure.ts';
import { indexViews } from '../protocol/indexViews.ts';
import type { Cell, RolloutFilter } from '../protocol/rolloutIndex.ts';
import { noStep } from '../protocol/rolloutLine.ts';

export interface Condition {
	/** Condition for WHERE. */
	readonly sql: string;
	readonly parameters: Record<string, Cell>;
}

const columns = indexViews.find(({ name }) => name === 'rollouts')?.columns ?? [];
const numeric = new Set(['BIGINT', 'INTEGER', 'DOUBLE', 'BOOLEAN']);

function quoted(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Returns the SQL for a column of the view `rollouts`, or for `rewards.<name>`. Fails with `invalid` if there is no
 * such column.
 * @param numbers whether the column must be numeric, for ranges, histograms and means
 */
export function columnSql(column: string, numbers: boolean): string {
	if (column.startsWith('rewards.')) return `rewards['${column.slice('rewards.'.length).replaceAll("'", "''")}']`;
	const found = columns.find(({ name }) => name === column);
	if (found === undefined || (numbers && !numeric.has(found.type))) {
		throw new Failure('invalid', `${column} is not a ${numbers ? 'numeric column' : 'column'} of rollouts.`);
	}
	return numbers && found.type === 'BOOLEAN' ? `${quoted(column)}::INTEGER` : quoted(column);
}

/**
 * Converts a filter to a condition on the view `rollouts`.
 * @param labels run labels by folder; runs that are not in the index have no rollouts
 */
export function conditionOf(filter: RolloutFilter, labels: ReadonlyMap<string, string>): Condition {
	const parts: string[] = [];
	const parameters: Record<string, Cell> = {};
	const value = (cell: Cell): string => {
		const name = `f${Object.keys(parameters).length}`;
		parameters[name] = cell;
		return `$${name}`;
	};
	if (filter.runs !== undefined) {
		const known = filter.runs.map((run) => labels.get(run)).filter((label) => label !== undefined);
		parts.push(known.length === 0 ? 'false' : `run in (${known.map(value).join(', ')})`);
	}
	if (filter.split !== undefined) parts.push(`split = ${value(filter.split)}`);
	if (filter.steps?.from !== undefined) parts.push(`step >= ${value(filter.steps.from)}`);
	if (filter.steps?.to !== undefined) parts.push(`step <= ${value(filter.steps.to)}`);
	if (filter.groups !== undefined) {
		const pairs = filter.groups.map(
			({ step, group }) => `(coalesce(step, ${noStep}) = ${value(step)} and group_id = ${value(group)})`,
		);
		parts.push(pairs.length === 0 ? 'false' : `(${pairs.join(' or ')})`);
	}
	if (filter.promptHash !== undefined) parts.push(`prompt_hash = ${value(filter.promptHash)}`);
	for (const { column, from, to } of filter.ranges ?? []) {
		const sql = columnSql(column, true);
		if (from !== undefined) parts.push(`${sql} >= ${value(from)}`);
		if (to !== undefined) parts.push(`${sql} <= ${value(to)}`);
	}
	if (filter.correct !== undefined) parts.push(`correct = ${filter.correct}`);
	if (filter.truncated !== undefined) parts.push(`truncated = ${filter.truncated}`);
	if (filter.where !== undefined && filter.where.trim() !== '') {
		// The line break ends any comment in the condition. Attempts to break out of the parentheses are caught when the
		// whole statement is checked.
		parts.push(`(${filter.where}\n)`);
	}
	return { sql: parts.length === 0 ? 'true' : parts.join(' and '), parameters };
}

/**
 * Returns whether a filter selects only whole runs, splits and steps, so that no index is needed to iterate over them.
 */
export function isWholeSteps(filter: RolloutFilter): boolean {
	const { groups, promptHash, ranges = [], correct, truncated, where = '' } = filter;
	const others = [groups, promptHash, correct, truncated];
	return others.every((value) => value === undefined) && ranges.length === 0 && where.trim() === '';
}
