import * as v from 'valibot';
import { longestStatement, questionSchema } from '../../src/protocol/queryMessages.ts';
import { dataChartKinds } from '../lib/charts/dataChart.ts';
import { emptyForm, queryFormSchema } from './queryForm.ts';

export const modes = ['form', 'sql'] as const;
export type Mode = (typeof modes)[number];

const column = v.pipe(v.string(), v.maxLength(1000));

/** Result columns shown in a chart. */
export const chartChoiceSchema = v.object({
	kind: v.picklist(dataChartKinds),
	x: column,
	y: column,
	/** Column whose values become separate series; null for a single series. */
	by: v.nullable(column),
});
export type ChartChoice = v.InferOutput<typeof chartChoiceSchema>;

/** State restored after a window reload: query and settings, but no data. */
export const savedStateSchema = v.object({
	view: v.literal('query'),
	mode: v.picklist(modes),
	form: queryFormSchema,
	sql: v.pipe(v.string(), v.maxLength(longestStatement)),
	/** Selected run folders; null selects all runs. */
	runs: v.nullable(v.array(v.string())),
	/** Query that produced the result. */
	question: v.nullable(questionSchema),
	/** Column shown in the histogram. */
	histogram: v.nullable(v.string()),
	/** Chart of the result; null if it is not shown. */
	chart: v.optional(v.nullable(chartChoiceSchema), null),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;

export const firstState: SavedState = {
	view: 'query',
	mode: 'form',
	form: emptyForm,
	sql: 'SELECT run, split, step, group_id, "index", reward, correct, characters\nFROM rollouts\nORDER BY reward DESC\nLIMIT 1000',
	runs: null,
	question: null,
	histogram: null,
	chart: null,
};
