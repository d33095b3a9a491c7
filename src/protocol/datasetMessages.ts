import * as v from 'valibot';
import { presetNames } from './recipeKeys/recipe.ts';

/*
 * Messages between a dataset editor and its webview, in the envelope of webviewMessages.ts. Every change sends a
 * complete `snapshot`, which is small because rows are requested in pages and cells are truncated. Everything derived
 * from rows (a view, the statistics, overlaps with test sets) carries the file version from which it was computed.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const name = v.pipe(v.string(), v.maxLength(1000));
const failure = v.object({ message: v.string(), action: v.nullable(v.string()) });

/** Maximum length of a table cell, and of a field in the details, in characters. */
export const longestCell = 240;
export const longestField = 400_000;
/** Maximum number of rows in a reply. */
export const maxRowsAtOnce = 400;
export const maxConditions = 20;
/** Maximum number of overlaps to list. All of them are counted. */
export const maxFindings = 1000;

export const conditionOperators = [
	'contains',
	'lacks',
	'=',
	'!=',
	'<',
	'<=',
	'>',
	'>=',
	'is empty',
	'is not empty',
] as const;

export const conditionSchema = v.object({
	column: name,
	operator: v.picklist(conditionOperators),
	value: v.pipe(v.string(), v.maxLength(2000)),
});
export type Condition = v.InferOutput<typeof conditionSchema>;

export const shownKinds = ['all', 'without', 'only'] as const;
export const shownSides = ['all', 'training', 'held out'] as const;

export const rowFilterSchema = v.object({
	/** Search text, matched case-insensitively in all columns. Empty if there is no search. */
	text: v.pipe(v.string(), v.maxLength(2000)),
	conditions: v.pipe(v.array(conditionSchema), v.maxLength(maxConditions)),
	/** Rows that are exact or near duplicates of an earlier row. */
	duplicates: v.picklist(shownKinds),
	/** Rows that overlap with a test set. */
	overlaps: v.picklist(shownKinds),
	side: v.picklist(shownSides),
});
export type RowFilter = v.InferOutput<typeof rowFilterSchema>;
export const noFilter: RowFilter = { text: '', conditions: [], duplicates: 'all', overlaps: 'all', side: 'all' };

export const rowSortSchema = v.object({ column: name, descending: v.boolean() });
export type RowSort = v.InferOutput<typeof rowSortSchema>;

export const shareSchema = v.pipe(v.number(), v.minValue(0.001), v.maxValue(0.9));

export const columnMappingSchema = v.object({
	prompt: v.nullable(name),
	answer: v.nullable(name),
	solution: v.nullable(name),
	preset: v.nullable(v.picklist(presetNames)),
});

const lengths = v.object({ least: count, median: count, mean: v.number(), p95: count, most: count });

export const datasetStatisticsSchema = v.object({
	/** Number of rows counted, and number of rows that a recipe would reject, along with the first such row. */
	rows: count,
	refused: count,
	firstRefused: v.nullable(v.object({ row: count, message: v.string() })),
	prompt: v.nullable(lengths),
	answer: v.nullable(lengths),
	solution: v.nullable(lengths),
	withSolution: count,
	answerKinds: v.array(v.tuple([v.string(), count])),
	vocabulary: count,
	/** Number of groups of exact duplicates, and number of rows in them, excluding the first row of each group. */
	exact: v.object({ groups: count, repeated: count }),
	near: v.object({ groups: count, repeated: count }),
	/** Number of rows compared to find exact and near duplicates. */
	compared: v.object({ exact: count, near: count }),
	/** Number of rows that are held out at this fraction, based on a hash of their prompts. */
	heldOut: count,
	share: v.number(),
});
export type DatasetStatistics = v.InferOutput<typeof datasetStatisticsSchema>;

export const datasetFindingSchema = v.object({
	row: count,
	/** Test set name, its matching row, and the words shared by both rows. */
	against: v.string(),
	test: count,
	words: v.string(),
});
export type DatasetFinding = v.InferOutput<typeof datasetFindingSchema>;

export const datasetColumnSchema = v.object({
	name: v.string(),
	type: v.string(),
	/** Mean length in characters. */
	length: v.number(),
	/** Whether the column is computed from the rows rather than stored in the file. */
	computed: v.boolean(),
});
export type DatasetColumn = v.InferOutput<typeof datasetColumnSchema>;

/** Long-running tasks. Each of them can be canceled. */
export const datasetWorks = ['index', 'statistics', 'view', 'overlaps', 'export', 'difficulty'] as const;
export type DatasetWork = (typeof datasetWorks)[number];

export const datasetSnapshotSchema = v.object({
	type: v.literal('snapshot'),
	/** Display name: the file's path relative to the workspace, or the task with its parameters. */
	label: v.string(),
	name: v.string(),
	format: v.string(),
	/** Size in bytes; null if the dataset is generated. */
	size: v.nullable(count),
	/** Changes whenever the content does; 0 if there is no content. */
	version: count,
	/** Whether the file has been modified since it was read. */
	stale: v.boolean(),
	failure: v.nullable(failure),
	/** Number of rows known so far, and whether that is all of them. */
	rows: count,
	complete: v.boolean(),
	columns: v.array(datasetColumnSchema),
	mapping: columnMappingSchema,
	/** Evidence for the guessed mapping. Empty once the user has chosen a mapping. */
	because: v.array(v.string()),
	/** Whether the rows are in the format that recipes expect, so a recipe can use them. */
	usable: v.boolean(),
	statistics: v.nullable(datasetStatisticsSchema),
	/** Which rows are shown, and in what order. `number` changes whenever either does. */
	view: v.object({
		number: count,
		filter: rowFilterSchema,
		sort: v.nullable(rowSortSchema),
		rows: count,
		/** Whether all rows are shown in their original order. */
		all: v.boolean(),
	}),
	tests: v.array(v.object({ name: v.string(), rows: count, tooShort: count })),
	/** null if rows have not been compared with test sets. */
	overlaps: v.nullable(v.object({ rows: count, findings: v.array(datasetFindingSchema) })),
	/** Source of the pass rates, and number of rows that have one; null if there are none. */
	difficulty: v.nullable(v.object({ name: v.string(), rows: count, questions: count })),
	works: v.array(v.object({ what: v.picklist(datasetWorks), done: v.number(), total: v.number() })),
	notice: v.nullable(v.object({ text: v.string(), isError: v.boolean() })),
	/** Row last opened by a link or an agent. `number` changes each time. */
	revealed: v.nullable(v.object({ number: count, row: count })),
});
export type DatasetSnapshot = v.InferOutput<typeof datasetSnapshotSchema>;

export const datasetEventSchema = v.variant('type', [datasetSnapshotSchema]);
export type DatasetEvent = v.InferOutput<typeof datasetEventSchema>;

export const datasetCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Reloads the file. */
	v.object({ type: v.literal('again') }),
	v.object({ type: v.literal('show'), filter: rowFilterSchema, sort: v.nullable(rowSortSchema) }),
	/** Sets the mapping; null restores the guessed mapping. */
	v.object({ type: v.literal('map'), mapping: v.nullable(columnMappingSchema) }),
	v.object({ type: v.literal('share'), share: shareSchema }),
	v.object({ type: v.literal('statistics') }),
	v.object({ type: v.literal('cancel'), what: v.picklist(datasetWorks) }),
	v.object({ type: v.literal('useInRecipe') }),
	v.object({ type: v.literal('copyRecipe') }),
	/** Asks the user for test sets and compares the rows with them. */
	v.object({ type: v.literal('addTests') }),
	v.object({ type: v.literal('removeTests') }),
	/** Asks the user for the source of pass rates. */
	v.object({ type: v.literal('difficulty') }),
	/** Exports the rows in the view, in the order shown. */
	v.object({ type: v.literal('export') }),
	v.object({ type: v.literal('openText') }),
	v.object({ type: v.literal('copy'), text: v.pipe(v.string(), v.maxLength(33_554_432)) }),
	v.object({ type: v.literal('forgetNotice') }),
	/** Reports an error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type DatasetCommand = v.InferOutput<typeof datasetCommandSchema>;

const shownRow = v.object({
	/** Zero-based row index in the file. */
	row: count,
	/** Truncated cell text, one entry per column in the snapshot; null for empty cells. */
	cells: v.array(v.nullable(v.string())),
	fault: v.nullable(v.string()),
	repeats: v.boolean(),
	overlaps: v.boolean(),
	heldOut: v.boolean(),
});
export type ShownRow = v.InferOutput<typeof shownRow>;

export const rowPartKinds = ['prompt', 'completion', 'solution', 'answer', 'field'] as const;
const rowPart = v.object({
	kind: v.picklist(rowPartKinds),
	title: v.string(),
	text: v.string(),
	/** Length of the full text in characters. The text itself may be truncated. */
	length: count,
});
export type RowPart = v.InferOutput<typeof rowPart>;

export const datasetRequests = {
	/** Rows `from` to `to` in a view. Fails with `mismatch` if the version or view is not the current one. */
	rows: {
		params: v.object({ version: count, view: count, from: count, to: count }),
		result: v.object({ rows: v.array(shownRow) }),
	},
	/** A single row of the file, in full. */
	row: {
		params: v.object({ version: count, row: count }),
		result: v.object({
			row: count,
			fault: v.nullable(v.string()),
			/** Why a recipe would reject the row. */
			refused: v.nullable(v.string()),
			parts: v.array(rowPart),
			findings: v.array(datasetFindingSchema),
			repeats: v.nullable(count),
			heldOut: v.boolean(),
		}),
	},
} as const;
export type DatasetRowDetail = v.InferOutput<typeof datasetRequests.row.result>;
