import { goldText } from '../answer.ts';
import { columnCell } from '../columnCell.ts';
import { datasetPresets, rowParts } from '../presets.ts';
import type { ColumnMapping } from './columnMapping.ts';
import { cellText, type RowValue } from './tableRow.ts';

/** Text values of a row's roles, or null for roles without a value. */
export interface RowRoles {
	readonly prompt: string | null;
	readonly answer: string | null;
	readonly solution: string | null;
}

/**
 * Reads a row leniently, so that rows that a recipe would reject can still be counted, compared, and shown. A chat
 * prompt is reduced to its user messages.
 */
export function rolesOf(row: RowValue, mapping: ColumnMapping): RowRoles {
	const column = (name: string | null): string => name ?? '';
	const reading = mapping.preset === null ? 'columns' : datasetPresets[mapping.preset].reading;
	const parts = rowParts(reading, row, {
		prompt: column(mapping.prompt),
		answer: column(mapping.answer),
		solution: column(mapping.solution),
	});
	return {
		prompt:
			mapping.prompt === null ? null : textOf(reading === 'columns' ? columnCell(row, mapping.prompt) : parts.prompt),
		answer: mapping.answer === null ? null : (goldText(parts.answer) ?? textOf(parts.answer)),
		solution: mapping.solution === null && mapping.preset === null ? null : textOf(parts.solution),
	};
}

function textOf(value: unknown): string | null {
	const said = Array.isArray(value) ? userWords(value) : null;
	const text = said ?? cellText(value);
	return text.trim() === '' ? null : text;
}

/** Joins the user messages in a list. Returns null if it is not a message list. */
function userWords(list: readonly unknown[]): string | null {
	const messages = list.flatMap((item) => {
		const { role, from, content, value } = (item ?? {}) as Record<string, unknown>;
		const who = role ?? from;
		const text = content ?? value;
		return typeof who === 'string' && typeof text === 'string' ? [{ who, text }] : [];
	});
	if (messages.length === 0) return null;
	const asked = messages.filter(({ who }) => who === 'user' || who === 'human');
	return (asked.length === 0 ? messages : asked).map(({ text }) => text).join('\n\n');
}
