import type { RolloutSplit } from '../runs/runContent.ts';
import { mapOf, type SqlValue, type TableAppender } from './duckdb.ts';
import { numberColumns, type RowBatch } from './rolloutRow.ts';

type Column = (typeof numberColumns)[number];

const booleans: ReadonlySet<Column> = new Set(['correct', 'truncated', 'has_tokens', 'has_step'] as const);
const doubles: ReadonlySet<Column> = new Set(['reward', 'advantage', 'repetition'] as const);
const bigints: ReadonlySet<Column> = new Set(['group_id', 'index', 'byte_offset', 'byte_length', 'item'] as const);

const largestInteger = 2 ** 31 - 1;

/** Converts a numeric column to DuckDB values, with NULL for NaN. */
function valuesOf(column: Column, numbers: Float64Array): SqlValue[] {
	const values = new Array<SqlValue>(numbers.length);
	const convert = booleans.has(column)
		? (x: number) => x === 1
		: doubles.has(column)
			? (x: number) => x
			: bigints.has(column)
				? (x: number) => BigInt(Math.trunc(Math.min(2 ** 62, Math.max(-(2 ** 62), x))))
				: (x: number) => Math.trunc(Math.min(largestInteger, Math.max(-largestInteger, x)));
	for (let i = 0; i < numbers.length; i++) {
		const x = numbers[i] as number;
		values[i] = Number.isNaN(x) ? null : convert(x);
	}
	return values;
}

const textsOf = ({ texts }: RowBatch, indexes: Int32Array): string[] => Array.from(indexes, (at) => texts[at] ?? '');

/** Appends the rollouts of one part to the table `rollout`, in the table's column order. */
export function appendRows(
	appender: TableAppender,
	part: { readonly runKey: number; readonly split: RolloutSplit; readonly step: number },
	batch: RowBatch,
): void {
	const { rows } = batch;
	const constant = (value: SqlValue) => new Array<SqlValue>(rows).fill(value);
	const maps = new Array<SqlValue>(rows);
	for (let row = 0, at = 0; row < rows; row++) {
		const entries: { key: string; value: number | null }[] = [];
		for (let i = batch.componentCounts[row] as number; i > 0; i--, at++) {
			const value = batch.componentValues[at] as number;
			entries.push({
				key: batch.names[batch.componentNames[at] as number] as string,
				value: Number.isNaN(value) ? null : value,
			});
		}
		maps[row] = mapOf(entries);
	}
	appender.append(
		[
			constant(part.runKey),
			constant(part.split),
			constant(BigInt(Math.trunc(part.step))),
			...numberColumns.map((column, i) => valuesOf(column, batch.numbers[i] as Float64Array)),
			textsOf(batch, batch.stages),
			textsOf(batch, batch.prompts),
			textsOf(batch, batch.files),
			maps,
		],
		rows,
	);
}
