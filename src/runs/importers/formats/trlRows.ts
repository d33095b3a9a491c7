import type { Message } from '../../../protocol/rolloutLine.ts';
import { messageOf } from '../foreignMessages.ts';
import { type Fields, fieldsOf, listOf, scoreOf } from '../foreignValues.ts';

/* Completion rows written by TRL, as Parquet files or W&B tables. */

const own = new Set(['step', 'prompt', 'completion', 'advantage', 'reward', 'image', 'images']);

/** Reads text or a list of messages; returns null for anything else. */
export function promptOf(value: unknown): string | Message[] | null {
	if (typeof value === 'string') return value;
	if (!Array.isArray(value)) return null;
	const messages = value.map(messageOf);
	return messages.every((message) => message !== null) ? messages : null;
}

/** Returns a key shared by rows with the same prompt. */
export const keyOfPrompt = (prompt: string | readonly Message[]): string =>
	typeof prompt === 'string' ? prompt : JSON.stringify(prompt);

/** Returns the columns whose names do not rule them out as rewards. */
export const otherColumns = (row: Fields): string[] => Object.keys(row).filter((name) => !own.has(name));

/**
 * Returns the reward columns: those that the metrics list as rewards or, if there are no such metrics, the numeric
 * ones.
 */
export function rewardColumns(row: Fields, known: ReadonlySet<string> | null): string[] {
	const columns = otherColumns(row);
	const named = known === null ? [] : columns.filter((name) => known.has(name));
	if (named.length > 0) return named;
	return columns.filter(
		(name) => row[name] === null || typeof row[name] === 'number' || typeof row[name] === 'boolean',
	);
}

/** Returns the reward functions' scores in order, with null for missing ones. */
export const scoresIn = (row: Fields, names: readonly string[]): (number | null)[] =>
	names.map((name) => scoreOf(row[name]));

/**
 * Converts the rows of a W&B table to objects keyed by column, or returns null for anything else. W&B stores NaN and
 * the infinities as text.
 */
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
