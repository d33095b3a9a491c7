import { longestField, type RowPart } from '../../../protocol/datasetMessages.ts';
import type { ColumnMapping } from './columnMapping.ts';
import { rolesOf } from './rowRoles.ts';
import { cellText, type RowValue } from './tableRow.ts';

/** Columns that contain policy output, with the reasoning and the answer in a single string. */
const written: readonly string[] = ['completion', 'response', 'output', 'generation', 'chosen', 'rejected'];
/** Maximum number of parts shown. Needed because a row can have thousands of columns. */
const maxParts = 200;

/** Splits a row into parts for reading: prompt, solution, completion, and answer, then the other columns. */
export function rowDetail(row: RowValue, mapping: ColumnMapping): RowPart[] {
	const roles = rolesOf(row, mapping);
	const parts: RowPart[] = [];
	const add = (kind: RowPart['kind'], title: string, text: string) =>
		parts.push({ kind, title, text: text.slice(0, longestField), length: text.length });
	const shown = new Set<string>();
	const named = (role: string, column: string | null) =>
		column === null || column === role ? title(role) : `${title(role)} (${column})`;
	if (mapping.prompt !== null && roles.prompt !== null) {
		const value = row[mapping.prompt];
		const text = Array.isArray(value) ? (conversation(value) ?? roles.prompt) : roles.prompt;
		add('prompt', named('prompt', mapping.prompt), text);
		shown.add(mapping.prompt);
	}
	if (roles.solution !== null) {
		add('solution', named('solution', mapping.solution), roles.solution);
		if (mapping.solution !== null) shown.add(mapping.solution);
	}
	for (const column of written) {
		if (shown.has(column) || column === mapping.answer || !Object.hasOwn(row, column)) continue;
		const value = row[column];
		const text = Array.isArray(value) ? (conversation(value) ?? cellText(value)) : cellText(value);
		if (text === '') continue;
		add('completion', title(column), text);
		shown.add(column);
	}
	if (roles.answer !== null) {
		add('answer', named('answer', mapping.answer), roles.answer);
		if (mapping.answer !== null) shown.add(mapping.answer);
	}
	for (const [column, value] of Object.entries(row)) {
		if (shown.has(column)) continue;
		if (parts.length >= maxParts) break;
		add(
			'field',
			column,
			typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : cellText(value),
		);
	}
	return parts;
}

const title = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Joins messages, labeling each with its role. Returns null if the list contains anything else. */
function conversation(list: readonly unknown[]): string | null {
	const said = list.map((item) => {
		const { role, from, content, value } = (item ?? {}) as Record<string, unknown>;
		const who = role ?? from;
		return typeof who === 'string' ? `${who}: ${cellText(content ?? value)}` : null;
	});
	return said.length === 0 || said.includes(null) ? null : said.join('\n\n');
}
