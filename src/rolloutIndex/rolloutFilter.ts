import { Failure } from '../base/failure.ts';
import { indexViews } from '../protocol/indexViews.ts';
import type { Cell, RolloutFilter } from '../protocol/rolloutIndex.ts';
import { noStep } from '../protocol/rolloutLine.ts';

export interface Condition {
	/** For WHERE. */
	readonly sql: string;
	readonly parameters: Record<string, Cell>;
}

const columns = indexViews.find(({ name }) => name === 'rollouts')?.columns ?? [];
const numeric = new Set(['BIGINT', 'INTEGER', 'DOUBLE', 'BOOLEAN']);

function quoted(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A column of the view `rollouts`, or `rewards.<name>`, as SQL. Fails with `invalid` when there is none of that name.
 * @param numbers as a number, for ranges, histograms and means
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
 * A filter as a condition on the view `rollouts`.
 * @param labels of runs by folder; a run that the index does not know has no rollouts
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
		// On a line of its own, so that a comment ends there. What it breaks out of is checked as a whole.
		parts.push(`(${filter.where}\n)`);
	}
	return { sql: parts.length === 0 ? 'true' : parts.join(' and '), parameters };
}

/** Whether a filter asks for nothing but whole runs, splits and steps: then no index is needed to go through them. */
export function isWholeSteps(filter: RolloutFilter): boolean {
	const { groups, promptHash, ranges = [], correct, truncated, where = '' } = filter;
	const others = [groups, promptHash, correct, truncated];
	return others.every((value) => value === undefined) && ranges.length === 0 && where.trim() === '';
}
