import type { PresetName } from '../../protocol/recipeKeys/recipe.ts';
import { specialTokens } from '../text/tokenizer.ts';
import { goldText } from './answer.ts';
import { columnCell } from './columnCell.ts';
import { datasetPresets, neededColumns, rowParts } from './presets.ts';
import type { Problem } from './problem.ts';

/** Maps each role to a JSONL column. */
export interface DatasetColumns {
	readonly prompt: string;
	readonly answer: string;
	readonly solution: string;
	/** Column with an image for each prompt. */
	readonly image?: string | undefined;
	/** How to interpret rows. If absent, columns are used as is. */
	readonly preset?: PresetName | undefined;
}

export const defaultColumns: DatasetColumns = { prompt: 'prompt', answer: 'answer', solution: 'solution' };

export interface RowFault {
	/** 1-based line number. */
	readonly line: number;
	/** Error message without the location, such as "is not JSON". */
	readonly message: string;
	readonly action: string;
	/** Role of the missing column, if any. */
	readonly missing?: string;
}

export type ParsedRow =
	| { readonly kind: 'row'; readonly problem: Problem }
	| { readonly kind: 'fault'; readonly fault: RowFault }
	| { readonly kind: 'blank' };

/** Returns a key that identifies a problem by its text and determines its split. */
export function promptKey(prompt: string): string {
	// Most prompts are printable ASCII with single spaces and need no normalization.
	if (!/[^ -~]/.test(prompt) && !prompt.includes('  ')) return prompt.trim();
	const text = prompt.normalize('NFC').trim();
	return /[^\S ]| {2}/.test(text) ? text.replace(/\s+/g, ' ') : text;
}

/** Returns the key of a problem with an image. Different images give different keys. */
function pictureKey(prompt: string, image: unknown): string {
	const path = typeof image === 'object' && image !== null ? (image as { path?: unknown }).path : image;
	// Keys of prompts contain no line breaks.
	return typeof path === 'string' ? `${promptKey(prompt)}\n${path}` : promptKey(prompt);
}

/**
 * Parses one line of a JSONL dataset. A null answer means that the answer is unknown, so accuracy does not apply to the
 * row.
 */
export function parseDatasetLine(text: string, line: number, columns: DatasetColumns = defaultColumns): ParsedRow {
	const bare = line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text;
	if (bare.trim() === '') return { kind: 'blank' };
	const fault = (message: string, action: string): ParsedRow => ({ kind: 'fault', fault: { line, message, action } });
	let value: unknown;
	try {
		value = JSON.parse(bare);
	} catch {
		return fault('is not JSON', 'Write one JSON object per line.');
	}
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		return fault('is not a JSON object', 'Write one JSON object per line.');
	}
	return parseDatasetRow(value as Record<string, unknown>, line, columns);
}

/**
 * Parses a row that has already been decoded.
 * @param line 1-based line number
 */
export function parseDatasetRow(
	given: Readonly<Record<string, unknown>>,
	line: number,
	columns: DatasetColumns = defaultColumns,
): Exclude<ParsedRow, { kind: 'blank' }> {
	const fault = (message: string, action: string) => ({ kind: 'fault', fault: { line, message, action } }) as const;
	const reading = columns.preset === undefined ? 'columns' : datasetPresets[columns.preset].reading;
	for (const [role, column] of neededColumns(reading, columns)) {
		if (columnCell(given, column) !== undefined) continue;
		const others = Object.keys(given).slice(0, 8).join(', ');
		const known = others === '' ? 'it has no columns' : `it has ${others}`;
		const missing = fault(
			`has no column "${column}" (${known})`,
			`Set "${role}" in the recipe's dataset to the name of the column.`,
		);
		return { ...missing, fault: { ...missing.fault, missing: role } };
	}
	const { prompt, answer: gold, solution: worked, row } = rowParts(reading, given, columns);
	if (typeof prompt !== 'string')
		return reading === 'countdown'
			? fault(`has a "${columns.prompt}" that is not a list of integers`, 'Write the prompt as a list of integers.')
			: fault(
					`has a "${columns.prompt}" that is neither a string nor a list of system and user messages`,
					'Write the prompt as a string, or as [{"role": "user", "content": ...}].',
				);
	if (prompt.trim() === '') return fault(`has an empty "${columns.prompt}"`, 'Add a prompt or remove the line.');
	if (gold === undefined && reading !== 'columns') {
		const mark = reading === 'hashes' ? '"####" before the answer' : '\\boxed{} around the answer';
		return fault(
			`has an "${columns.answer}" without ${mark}`,
			'Fix the line, or remove "preset" and name the columns.',
		);
	}
	const answer = goldText(gold);
	if (answer === null && gold !== null) {
		return fault(
			`has an "${columns.answer}" that cannot be compared`,
			'Use a string or a number, or null if the answer is unknown.',
		);
	}
	const solution = worked === undefined ? null : worked;
	if (solution !== null && typeof solution !== 'string') {
		return fault(`has a "${columns.solution}" that is not a string`, 'Make the solution a string, or omit it.');
	}
	for (const part of [prompt, answer, solution]) {
		const reserved =
			part === null || !part.includes('<') ? undefined : specialTokens.find((token) => part.includes(token));
		if (reserved) return fault(`contains the reserved symbol ${reserved}`, 'Remove it from the text.');
	}
	const key = columns.image === undefined ? promptKey(prompt) : pictureKey(prompt, columnCell(given, columns.image));
	return { kind: 'row', problem: { prompt, answer, solution, key, row } };
}
