import * as v from 'valibot';
import { presetNames } from './recipe.ts';

/*
 * Messages between a dataset editor and its webview, in the envelope of webviewMessages.ts. Every change is told by a
 * complete `snapshot`, which is small: rows are asked for in portions, and cells are cut. What is made of rows (a view, the
 * statistics, overlaps with test sets) has the version of the file that it was made of.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const name = v.pipe(v.string(), v.maxLength(1000));
const failure = v.object({ message: v.string(), action: v.nullable(v.string()) });

/** Longest text of a cell in the table, and of a field in the detail, in characters. */
export const longestCell = 240;
export const longestField = 400_000;
/** Rows of one answer. */
export const maxRowsAtOnce = 400;
export const maxConditions = 20;
/** Overlaps that are listed; all are counted. */
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
export type ConditionOperator = (typeof conditionOperators)[number];

export const conditionSchema = v.object({
	column: name,
	operator: v.picklist(conditionOperators),
	value: v.pipe(v.string(), v.maxLength(2000)),
});
export type Condition = v.InferOutput<typeof conditionSchema>;

export const shownKinds = ['all', 'without', 'only'] as const;
export const shownSides = ['all', 'training', 'held out'] as const;

export const rowFilterSchema = v.object({
	/** Looked for in all columns, whatever the case; empty: nothing is. */
	text: v.pipe(v.string(), v.maxLength(2000)),
	conditions: v.pipe(v.array(conditionSchema), v.maxLength(maxConditions)),
	/** Rows that repeat an earlier one, exactly or nearly. */
	duplicates: v.picklist(shownKinds),
	/** Rows that share words with a test set. */
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
	/** Rows that were counted, and those that a recipe would refuse, with the first of them. */
	rows: count,
	refused: count,
	firstRefused: v.nullable(v.object({ row: count, message: v.string() })),
	prompt: v.nullable(lengths),
	answer: v.nullable(lengths),
	solution: v.nullable(lengths),
	withSolution: count,
	answerKinds: v.array(v.tuple([v.string(), count])),
	vocabulary: count,
	/** Groups of rows that say the same, and their rows but the first of each. */
	exact: v.object({ groups: count, repeated: count }),
	near: v.object({ groups: count, repeated: count }),
	/** Rows that were compared: of exact duplicates, of near ones. */
	compared: v.object({ exact: count, near: count }),
	/** Rows that are held out by the hash of their prompt, at this share. */
	heldOut: count,
	share: v.number(),
});
export type DatasetStatistics = v.InferOutput<typeof datasetStatisticsSchema>;

export const datasetFindingSchema = v.object({
	row: count,
	/** The test set's name, the row in it, and the words that both have. */
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
	/** Not in the file: found out about its rows. */
	computed: v.boolean(),
});
export type DatasetColumn = v.InferOutput<typeof datasetColumnSchema>;

/** What takes long; each can be ended. */
export const datasetWorks = ['index', 'statistics', 'view', 'overlaps', 'export', 'difficulty'] as const;
export type DatasetWork = (typeof datasetWorks)[number];

export const datasetSnapshotSchema = v.object({
	type: v.literal('snapshot'),
	/** For people: the file relative to the workspace, or the task with its parameters. */
	label: v.string(),
	name: v.string(),
	format: v.string(),
	/** Bytes; null: it is generated. */
	size: v.nullable(count),
	/** Changes with the content; 0: there is none. */
	version: count,
	/** The file was written to since it was read. */
	stale: v.boolean(),
	failure: v.nullable(failure),
	/** Rows known so far, and whether these are all. */
	rows: count,
	complete: v.boolean(),
	columns: v.array(datasetColumnSchema),
	mapping: columnMappingSchema,
	/** What the mapping was guessed by; empty once a person chose it. */
	because: v.array(v.string()),
	/** Whether the rows are of a recipe's dataset, so that one can use them. */
	usable: v.boolean(),
	statistics: v.nullable(datasetStatisticsSchema),
	/** Which rows are shown, in which order. `number` changes with them. */
	view: v.object({
		number: count,
		filter: rowFilterSchema,
		sort: v.nullable(rowSortSchema),
		rows: count,
		/** Every row in its own order. */
		all: v.boolean(),
	}),
	tests: v.array(v.object({ name: v.string(), rows: count, tooShort: count })),
	/** null: rows were not held against test sets. */
	overlaps: v.nullable(v.object({ rows: count, findings: v.array(datasetFindingSchema) })),
	/** Where pass rates are from, and how many rows have one; null: there are none. */
	difficulty: v.nullable(v.object({ name: v.string(), rows: count, questions: count })),
	works: v.array(v.object({ what: v.picklist(datasetWorks), done: v.number(), total: v.number() })),
	notice: v.nullable(v.object({ text: v.string(), isError: v.boolean() })),
});
export type DatasetSnapshot = v.InferOutput<typeof datasetSnapshotSchema>;

export const datasetEventSchema = v.variant('type', [datasetSnapshotSchema]);
export type DatasetEvent = v.InferOutput<typeof datasetEventSchema>;

export const datasetCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Reads the file again. */
	v.object({ type: v.literal('again') }),
	v.object({ type: v.literal('show'), filter: rowFilterSchema, sort: v.nullable(rowSortSchema) }),
	/** null: as it was guessed. */
	v.object({ type: v.literal('map'), mapping: v.nullable(columnMappingSchema) }),
	v.object({ type: v.literal('share'), share: shareSchema }),
	v.object({ type: v.literal('statistics') }),
	v.object({ type: v.literal('cancel'), what: v.picklist(datasetWorks) }),
	v.object({ type: v.literal('useInRecipe') }),
	v.object({ type: v.literal('copyRecipe') }),
	/** Asks for test sets and holds the rows against them. */
	v.object({ type: v.literal('addTests') }),
	v.object({ type: v.literal('removeTests') }),
	/** Asks where pass rates are to come from. */
	v.object({ type: v.literal('difficulty') }),
	/** The rows of the view, in its order. */
	v.object({ type: v.literal('export') }),
	v.object({ type: v.literal('openText') }),
	v.object({ type: v.literal('copy'), text: v.pipe(v.string(), v.maxLength(33_554_432)) }),
	v.object({ type: v.literal('forgetNotice') }),
	/** An error of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type DatasetCommand = v.InferOutput<typeof datasetCommandSchema>;

const shownRow = v.object({
	/** In the file, from 0. */
	row: count,
	/** Cut texts, one for each column of the snapshot; null: empty. */
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
	/** Characters of the whole text, which may be cut. */
	length: count,
});
export type RowPart = v.InferOutput<typeof rowPart>;

export const datasetRequests = {
	/** Rows `from` to `to` of a view. Fails with `mismatch` when the version or the view is not the present one. */
	rows: {
		params: v.object({ version: count, view: count, from: count, to: count }),
		result: v.object({ rows: v.array(shownRow) }),
	},
	/** One row of the file, whole. */
	row: {
		params: v.object({ version: count, row: count }),
		result: v.object({
			row: count,
			fault: v.nullable(v.string()),
			/** Why a recipe would refuse it. */
			refused: v.nullable(v.string()),
			parts: v.array(rowPart),
			findings: v.array(datasetFindingSchema),
			repeats: v.nullable(count),
			heldOut: v.boolean(),
		}),
	},
} as const;
export type DatasetRowDetail = v.InferOutput<typeof datasetRequests.row.result>;
