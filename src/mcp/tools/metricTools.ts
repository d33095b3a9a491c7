import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { describeMetric } from '../../core/metrics/catalog.ts';
import { didYouMean } from '../../core/recipe/suggest.ts';
import { pageOf } from '../answer.ts';
import * as input from '../inputs.ts';
import { readColumns } from '../metricColumns.ts';
import { summarize } from '../metricSummary.ts';
import { defineTool } from '../tool.ts';

export const metrics = defineTool({
	name: 'read_metrics',
	title: 'Read metrics',
	description:
		'Read metrics from a run. as=summary returns first, last, min, max, mean and trend per metric. as=table returns rows by step, page by page, evenly sampled to at most `points` rows.',
	input: v.object({
		run: input.run,
		names: input.described(
			v.pipe(v.array(v.pipe(v.string(), v.maxLength(200))), v.minLength(1), v.maxLength(30)),
			'Metric names, as returned by describe_run.',
		),
		as: v.optional(v.picklist(['summary', 'table']), 'summary'),
		from_step: v.optional(input.step),
		to_step: v.optional(input.step),
		points: v.optional(input.described(input.whole(2, 2000), 'Maximum number of table rows after sampling.'), 100),
		limit: input.limit(100),
		cursor: input.cursor,
	}),
	async run({ run: named, names, as, from_step, to_step, points, limit, cursor }, { runs, signal }) {
		const { run, content } = await runs.open(named);
		const { steps, columns, names: known } = await readColumns(content, names, signal, from_step, to_step);
		const unknown = names.find((name) => !known.has(name));
		if (unknown !== undefined) {
			const hint = didYouMean(unknown, [...known]);
			throw new Failure(
				'missing',
				`${run.name} has no metric "${unknown}".${hint === null ? '' : ` ${hint}`}`,
				'Call describe_run to list metric names.',
			);
		}
		if (as === 'summary') {
			return {
				run: run.name,
				rows: steps.length,
				metrics: names.map((name, i) => {
					const { title, unit, better, explanation } = describeMetric(name, { format: content.format });
					const address = formatAddress({ kind: 'metric', run: run.name, metric: name, step: null });
					return { name, title, unit, better, meaning: explanation, address, ...summarize(steps, columns[i] ?? []) };
				}),
			};
		}
		const picked = evenly(steps.length, points);
		const rows = picked.map((row) => [steps[row], ...columns.map((column) => column[row])]);
		const page = pageOf(rows, cursor, limit);
		const addresses = names.map((metric) => formatAddress({ kind: 'metric', run: run.name, metric, step: null }));
		return {
			run: run.name,
			columns: ['step', ...names],
			addresses: [null, ...addresses],
			sampled_from: steps.length,
			...page,
		};
	},
});

/** Returns at most `count` evenly spaced row numbers, including the first and the last. */
export function evenly(rows: number, count: number): number[] {
	if (rows <= count) return Array.from({ length: rows }, (_, i) => i);
	return Array.from({ length: count }, (_, i) => Math.round((i * (rows - 1)) / (count - 1)));
}
