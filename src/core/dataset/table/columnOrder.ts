import type { ColumnMapping } from './columnMapping.ts';
import type { TableColumn } from './tableColumns.ts';

/** Rollout columns to show first, and bookkeeping columns to show last. */
const early: readonly string[] = [
	'completion',
	'chosen',
	'rejected',
	'reward',
	'rewards',
	'advantage',
	'correct',
	'truncated',
];
const late: readonly string[] = ['tokens', 'parents', 'extra'];

/** Sorts columns for display: prompt, completion, and reward, then answer, solution, and the rest. */
export function columnOrder(columns: readonly TableColumn[], mapping: ColumnMapping): TableColumn[] {
	const place = ({ name }: TableColumn): number => {
		if (name === mapping.prompt) return 0;
		const first = early.indexOf(name);
		if (first >= 0) return 1 + first;
		if (name === mapping.answer) return 20;
		if (name === mapping.solution) return 21;
		return late.includes(name) ? 40 : 30;
	};
	return columns
		.map((column, i) => [column, i] as const)
		.toSorted(([a, i], [b, j]) => place(a) - place(b) || i - j)
		.map(([column]) => column);
}
