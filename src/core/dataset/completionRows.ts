import { Failure } from '../../base/failure.ts';
import { renderCompletion, type Template } from '../text/template.ts';
import { specialTokens } from '../text/tokenizer.ts';
import { goldText } from './answer.ts';

/** A completion for the model to imitate. */
export interface CompletionRow {
	/** Problem text, before the template is applied. */
	readonly prompt: string;
	/** Completion with its tags, without the end-of-sequence token. */
	readonly completion: string;
	/** Gold answer, or null if unknown. */
	readonly answer: string | null;
	/** All columns of the row, as passed to rewards. */
	readonly row: Readonly<Record<string, unknown>>;
}

/** Maps each role to a column name. */
export interface CompletionColumns {
	readonly prompt: string;
	readonly completion: string;
	readonly answer: string;
	/** Column with just the reasoning. In rows without a completion, one is built from this column and the answer. */
	readonly solution?: string | undefined;
}

type Fault = (what: string, action: string) => Failure;

/**
 * Parses completion rows from JSONL. Completions are used as is. If a row lacks one, the template is used to build it
 * from the solution and the answer. Throws `invalid` at the first invalid line, or if there are no rows.
 */
export function parseCompletionRows(
	content: string,
	what: string,
	columns: CompletionColumns,
	template: Template,
): CompletionRow[] {
	const rows: CompletionRow[] = [];
	for (const [i, written] of content.split('\n').entries()) {
		const line = i === 0 && written.startsWith('\uFEFF') ? written.slice(1) : written;
		if (line.trim() === '') continue;
		const fault: Fault = (message, action) => new Failure('invalid', `${what}, line ${i + 1}, ${message}.`, action);
		rows.push(rowOf(line, columns, template, fault));
	}
	if (rows.length > 0) return rows;
	throw new Failure(
		'invalid',
		`${what} has no rows.`,
		`Write one JSON object per line with "${columns.prompt}" and "${columns.completion}".`,
	);
}

function rowOf(line: string, columns: CompletionColumns, template: Template, fault: Fault): CompletionRow {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch {
		throw fault('is not JSON', 'Write one JSON object per line.');
	}
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		throw fault('is not a JSON object', 'Write one JSON object per line.');
	}
	const row = value as Record<string, unknown>;
	const textIn = (role: 'prompt' | 'completion' | 'solution', column: string): string => {
		const text = row[column];
		if (typeof text === 'string') return text;
		const lacks = Object.hasOwn(row, column) ? `has a "${column}" that is not a string` : `has no column "${column}"`;
		throw fault(lacks, `Set "${role}" in the stage's data to the name of the column.`);
	};
	const prompt = textIn('prompt', columns.prompt);
	if (prompt.trim() === '') throw fault(`has an empty "${columns.prompt}"`, 'Add a prompt or remove the line.');
	const gold = goldText(row[columns.answer]);
	if (gold === null && row[columns.answer] != null && row[columns.answer] !== '') {
		throw fault(`has an "${columns.answer}" that cannot be compared`, 'Use a string, a number, or null.');
	}
	const answer = gold;
	let completion: string;
	if (row[columns.completion] == null && columns.solution !== undefined && row[columns.solution] != null) {
		if (answer === null)
			throw fault(`has no "${columns.answer}"`, 'Add it; a solution without an answer is not a completion.');
		completion = renderCompletion(template, { solution: textIn('solution', columns.solution), answer });
	} else {
		completion = textIn('completion', columns.completion);
	}
	if (completion === '') throw fault(`has an empty "${columns.completion}"`, 'Add a completion or remove the line.');
	const reserved = specialTokens.find((token) => prompt.includes(token) || completion.includes(token));
	if (reserved) throw fault(`contains the reserved symbol ${reserved}`, 'Remove it from the text.');
	return { prompt, completion, answer, row };
}
