import type { RunTableRow } from '../../protocol/runTableMessages.ts';

/** A value in a cell; null if the run has none. */
export type CellValue = number | string | boolean | null;

export interface RunColumn {
	/** `name`, `created`, ..., `metric:reward` or `recipe:stages[0].beta`. */
	readonly id: string;
	readonly label: string;
	/** Name of the metric, or path of the recipe key; otherwise, the id. */
	readonly path: string;
	readonly kind: 'run' | 'metric' | 'recipe';
	readonly value: (row: RunTableRow) => CellValue;
}

const fact = (label: string, value: RunColumn['value']): RunColumn => {
	const id = label.toLowerCase();
	return { id, label, path: id, kind: 'run', value };
};

const runColumns: readonly RunColumn[] = [
	fact('Name', ({ name }) => name),
	fact('Project', ({ project }) => project),
	fact('Status', ({ status }) => status),
	fact('Engine', ({ engine }) => engine),
	fact('Step', ({ step }) => step),
	fact('Created', ({ created }) => created),
	fact('Tags', ({ tags }) => (tags.length === 0 ? null : tags.join(', '))),
];

/** Metrics shown first by default if a run has them. */
const firstMetrics = ['eval/heldout/accuracy', 'eval/accuracy', 'reward'];
const metricLabels: Readonly<Record<string, string>> = {
	'eval/heldout/accuracy': 'Held-out accuracy',
	'eval/accuracy': 'Evaluation accuracy',
	reward: 'Reward',
};
/** Maximum number of recipe keys shown by default. */
const maxKeys = 5;
/** Recipe keys whose differences do not affect training. */
const incidental = /(^|\.)(path|file|solution|prompt|answer)$/;

/** Returns the last part of each path, omitting paths whose last part is not unique. */
function shortened(paths: readonly string[]): ReadonlyMap<string, string> {
	const ends = Map.groupBy(paths, (path) => path.slice(path.lastIndexOf('.') + 1));
	return new Map(
		[...ends].flatMap(([end, [first, ...others]]) => (first && others.length === 0 ? [[first, end]] : [])),
	);
}

export interface RunColumns {
	/** All columns, by id. */
	readonly all: ReadonlyMap<string, RunColumn>;
	/** Columns to show unless the user chooses others. */
	readonly usual: readonly string[];
}

/**
 * Returns the columns for a list of runs: facts about runs, and the metrics and recipe keys that at least one run has.
 * By default, recipe keys are shown if their values differ between runs.
 */
export function columnsOf(rows: readonly RunTableRow[]): RunColumns {
	const metrics = new Set<string>();
	/** First value of each recipe key, the number of runs that have it, and whether the values differ. */
	const keys = new Map<string, { first: unknown; runs: number; differ: boolean }>();
	for (const row of rows) {
		for (const name in row.metrics) metrics.add(name);
		for (const key in row.recipe) {
			const value = row.recipe[key];
			const known = keys.get(key);
			if (known === undefined) keys.set(key, { first: value, runs: 1, differ: false });
			else {
				known.runs++;
				known.differ ||= known.first !== value;
			}
		}
	}
	const shortNames = shortened([...keys.keys()]);
	const first = firstMetrics.filter((name) => metrics.has(name));
	const others = [...metrics].filter((name) => !firstMetrics.includes(name)).sort();
	const columns: RunColumn[] = [
		...runColumns,
		...[...first, ...others].map(
			(name): RunColumn => ({
				id: `metric:${name}`,
				label: metricLabels[name] ?? name,
				path: name,
				kind: 'metric',
				value: ({ metrics: values }) => (Object.hasOwn(values, name) ? (values[name] as number) : null),
			}),
		),
		...[...keys.keys()].map(
			(key): RunColumn => ({
				id: `recipe:${key}`,
				label: shortNames.get(key) ?? key,
				path: key,
				kind: 'recipe',
				value: ({ recipe }) => (Object.hasOwn(recipe, key) ? (recipe[key] as CellValue) : null),
			}),
		),
	];
	const differing = [...keys]
		.filter(([key, { differ }]) => differ && key !== 'seed' && !incidental.test(key))
		.sort((a, b) => b[1].runs - a[1].runs)
		.slice(0, maxKeys)
		.map(([key]) => `recipe:${key}`);
	const several = new Set(rows.map(({ project }) => project)).size > 1;
	const usual = [
		...['name', ...(several ? ['project'] : []), 'status', 'step'],
		...first.slice(0, 2).map((name) => `metric:${name}`),
		...(keys.has('seed') ? ['recipe:seed'] : []),
		...differing,
		...['created', ...(rows.some(({ tags }) => tags.length > 0) ? ['tags'] : [])],
	];
	return { all: new Map(columns.map((column) => [column.id, column])), usual };
}
