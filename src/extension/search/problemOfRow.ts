import { goldText } from '../../core/dataset/answer.ts';
import { sampledColumns, usualColumns } from '../../core/dataset/table/usualColumns.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';

const promptColumns = usualColumns.prompt;
/** Gold answer columns. Columns with text written by a policy are excluded, because the row may be a rollout. */
const gold = usualColumns.answer.filter((name) => !(sampledColumns as readonly string[]).includes(name));
const answerColumns = [...gold, 'solution', 'output'];
const longestPrompt = 200_000;

/**
 * Returns the problem in a dataset row, or null if there is none. In a list of messages, the last user message is the
 * problem.
 */
export function problemOfRow(value: unknown): SearchProblem | null {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
	const row = value as Record<string, unknown>;
	const column = promptColumns.find((name) => Object.hasOwn(row, name) && promptOf(row[name]) !== null);
	if (column === undefined) return null;
	const prompt = promptOf(row[column]) as string;
	const answer = answerColumns
		.filter((name) => name !== column)
		.map((name) => answerOf(row[name]))
		.find((text) => text !== null);
	return { prompt, answer: answer ?? null, row };
}

/** Same as {@link problemOfRow}, for a line of JSON. */
export function problemOfLine(line: string): SearchProblem | null {
	if (line.length > 4 * longestPrompt || !line.trimStart().startsWith('{')) return null;
	try {
		return problemOfRow(JSON.parse(line));
	} catch {
		return null;
	}
}

function promptOf(value: unknown): string | null {
	if (typeof value === 'string') return value.trim() === '' || value.length > longestPrompt ? null : value;
	if (!Array.isArray(value)) return null;
	const last = value.findLast((message: unknown) => (message as { readonly role?: unknown } | null)?.role === 'user') as
		| { readonly content?: unknown }
		| undefined;
	return typeof last?.content === 'string' ? promptOf(last.content) : null;
}

/** Extracts the answer after "####", as in GSM8K. */
function answerOf(value: unknown): string | null {
	const text = goldText(value);
	return text === null ? null : (/####\s*(.+?)\s*$/.exec(text)?.[1] ?? text);
}
