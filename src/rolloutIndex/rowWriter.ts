import type { RolloutSplit } from '../runs/runContent.ts';
import { mapOf, type SqlValue, type TableAppender } from './duckdb.ts';
import { numberColumns, type RowBatch } from './rolloutRow.ts';
import { turnsValue } from './turnRow.ts';

type Column = (typeof numberColumns)[number];

const booleans: ReadonlySet<Column> = new Set(['correct', 'truncated', 'has_tokens', 'has_step'] as const);
const doubles: ReadonlySet<Column> = new Set(['reward', 'advantage', 'repetition'] as const);
const bigints: ReadonlySet<Column> = new Set([
	'group_id',
	'index',
	'weights',
	'staleness',
	'byte_offset',
	'byte_length',
	'item',
] as const);

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

/**
 * Maximum number of rows to convert at a time. With more, their values would survive young-generation garbage
 * collection, and the heap would grow by tens of megabytes.
 */
const rowsAtOnce = 256;

/** Appends the rollouts of one part to the table `rollout`, in the table's column order. */
export function appendRows(
	appender: TableAppender,
	part: { readonly runKey: number; readonly split: RolloutSplit; readonly step: number },
	batch: RowBatch,
): void {
	const step = BigInt(Math.trunc(part.step));
	let components = 0;
	for (let from = 0; from < batch.rows; from += rowsAtOnce) {
		const to = Math.min(batch.rows, from + rowsAtOnce);
		const rows = to - from;
		const constant = (value: SqlValue) => new Array<SqlValue>(rows).fill(value);
		const texts = (indexes: Int32Array) => Array.from(indexes.subarray(from, to), (at) => batch.texts[at] ?? '');
		const maps = new Array<SqlValue>(rows);
		for (let row = 0; row < rows; row++) {
			const end = components + (batch.componentCounts[from + row] as number);
			maps[row] = componentsOf(batch, components, end);
			components = end;
		}
		appender.append(
			[
				constant(part.runKey),
				constant(part.split),
				constant(step),
				...numberColumns.map((column, i) => valuesOf(column, (batch.numbers[i] as Float64Array).subarray(from, to))),
				texts(batch.stages),
				texts(batch.prompts),
				texts(batch.files),
				maps,
				Array.from({ length: rows }, (_, row) => turnsValue(batch.turns.get(from + row) ?? null)),
			],
			rows,
		);
	}
}

/** Returns the reward components in a range of the batch's components. */
function componentsOf({ names, componentNames, componentValues }: RowBatch, from: number, to: number): SqlValue {
	const entries: { key: string; value: number | null }[] = [];
	for (let at = from; at < to; at++) {
		const value = componentValues[at] as number;
		entries.push({ key: names[componentNames[at] as number] as string, value: Number.isNaN(value) ? null : value });
	}
	return mapOf(entries);
}
