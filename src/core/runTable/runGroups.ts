import type { RunTableRow } from '../../protocol/runTableMessages.ts';
import type { RunColumn } from './runColumns.ts';

/**
 * How runs are grouped. `recipe`: all values of the recipe except the seed are equal, so the runs in a group differ
 * only by chance.
 */
export const runGroupings = ['none', 'project', 'recipe', 'tags', 'status'] as const;
export type RunGrouping = (typeof runGroupings)[number];

export interface RunGroup {
	/** Unique key of the group. */
	readonly key: string;
	readonly label: string;
	readonly rows: readonly RunTableRow[];
}

/** Returns the groups in the order of their first runs, with runs in the given order. */
export function groupRuns(rows: readonly RunTableRow[], grouping: Exclude<RunGrouping, 'none'>): RunGroup[] {
	const groups = Map.groupBy(rows, keyOf(grouping));
	return [...groups].map(([key, members]) => ({
		key,
		label: grouping === 'recipe' ? (members[0]?.name ?? '') : key || (grouping === 'tags' ? 'No tags' : 'None'),
		rows: members,
	}));
}

function keyOf(grouping: Exclude<RunGrouping, 'none'>): (row: RunTableRow) => string {
	switch (grouping) {
		case 'project':
			return ({ project }) => project;
		case 'status':
			return ({ status }) => status;
		case 'tags':
			return ({ tags }) => tags.toSorted().join(', ');
		case 'recipe':
			// Runs without a recipe are not grouped, because nothing is known about them.
			return ({ recipe, folder, engine }) => {
				const entries = Object.entries(recipe).filter(([key]) => key !== 'seed');
				return entries.length === 0 ? folder : JSON.stringify([engine, entries.sort(([a], [b]) => (a < b ? -1 : 1))]);
			};
	}
}

/** Mean and spread of a column over the runs of a group. */
export interface GroupValue {
	readonly mean: number;
	/** Sample standard deviation (n - 1); null for a single run. */
	readonly deviation: number | null;
	readonly min: number;
	readonly max: number;
	/** Number of runs with a value. */
	readonly runs: number;
}

/** Returns the summary of a numeric column, or the value that all runs share, or null if there is neither. */
export function groupValue(
	rows: readonly RunTableRow[],
	{ value }: Pick<RunColumn, 'value'>,
): GroupValue | string | null {
	const values = rows.map(value).filter((one) => one !== null);
	const [first] = values;
	if (first === undefined) return null;
	if (values.every((one) => typeof one === 'number')) {
		const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
		const squares = values.reduce((sum, one) => sum + (one - mean) ** 2, 0);
		return {
			mean,
			deviation: values.length < 2 ? null : Math.sqrt(squares / (values.length - 1)),
			min: Math.min(...values),
			max: Math.max(...values),
			runs: values.length,
		};
	}
	return values.length === rows.length && values.every((one) => one === first) ? String(first) : null;
}
