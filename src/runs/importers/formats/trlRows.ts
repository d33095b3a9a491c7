import type { Message } from '../../../protocol/rolloutLine.ts';
import { messageOf } from '../foreignMessages.ts';
import { type Fields, fieldsOf, listOf, scoreOf } from '../foreignValues.ts';

/* Rows of completions as TRL writes them: Parquet files of its own, or tables of W&B. */

const own = new Set(['step', 'prompt', 'completion', 'advantage', 'reward', 'image', 'images']);

/** A text, or a list of messages; null: neither. */
export function promptOf(value: unknown): string | Message[] | null {
	if (typeof value === 'string') return value;
	if (!Array.isArray(value)) return null;
	const messages = value.map(messageOf);
	return messages.every((message) => message !== null) ? messages : null;
}

/** What rows of one prompt share. */
export const keyOfPrompt = (prompt: string | readonly Message[]): string =>
	typeof prompt === 'string' ? prompt : JSON.stringify(prompt);

/** Columns that are no rewards by their names. */
export const otherColumns = (row: Fields): string[] => Object.keys(row).filter((name) => !own.has(name));

/** Columns of rewards: those that the metrics know as rewards; where they know none, those of numbers. */
export function rewardColumns(row: Fields, known: ReadonlySet<string> | null): string[] {
	const columns = otherColumns(row);
	const named = known === null ? [] : columns.filter((name) => known.has(name));
	if (named.length > 0) return named;
	return columns.filter(
		(name) => row[name] === null || typeof row[name] === 'number' || typeof row[name] === 'boolean',
	);
}

/** What the functions gave, in their order; null: nothing. */
export const scoresIn = (row: Fields, names: readonly string[]): (number | null)[] =>
	names.map((name) => scoreOf(row[name]));

/** Rows of a W&B table as objects by column; null: it is none. W&B writes NaN and the infinities as texts. */
export function tableRows(record: unknown): Fields[] | null {
	const table = fieldsOf(record);
	if (!Array.isArray(table?.columns) || !Array.isArray(table.data)) return null;
	const columns = listOf(table.columns).map(String);
	if (!columns.includes('prompt') || !columns.includes('completion')) return null;
	return table.data.map((row: unknown) => {
		const values = listOf(row);
		const entries = columns.map((column, i): [string, unknown] => [column, values[i] ?? null]);
		return Object.fromEntries(entries.map(([column, value]) => [column, notFinite.has(value) ? null : value]));
	});
}

const notFinite: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity']);
