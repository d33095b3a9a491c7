import type { TreeEvent } from '../../../protocol/treeLog.ts';

/** Maximum length of text sent initially, in UTF-16 code units; the rest is sent on request. */
export const longestText = 8000;
const longestWords = 2000;
const maxListed = 200;

const cut = (text: string, longest: number) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
const cutAll = (texts: readonly string[]) => texts.slice(0, maxListed).map((text) => cut(text, longestWords));

/** Truncates a value from an untrusted log to a maximum JSON length. */
function cutValue(value: unknown): unknown {
	if (typeof value === 'string') return cut(value, longestText);
	if (typeof value !== 'object' || value === null) return value;
	const text = JSON.stringify(value);
	return text.length > longestText ? cut(text, longestText) : value;
}

function cutRecord(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
	const text = JSON.stringify(record);
	return text.length <= longestText ? record : { cut: cut(text, longestText) };
}

/**
 * Limits the size of an event so that a single log line cannot flood the view. `cut` indicates that text was truncated.
 */
export function cutEvent(event: TreeEvent): TreeEvent {
	switch (event.t) {
		case 'start': {
			const { spec: _, problem, ...rest } = event;
			return {
				...rest,
				params: cutRecord(event.params),
				problem: { ...problem, prompt: cut(problem.prompt, longestText), row: cutRecord(problem.row) },
			};
		}
		case 'node': {
			const long = event.text.length > longestText;
			const { label, answer, data } = event;
			return {
				...event,
				...(long ? { text: event.text.slice(0, longestText), cut: true } : {}),
				...(label === undefined ? {} : { label: cut(label, longestWords) }),
				...(answer === null ? {} : { answer: cut(answer, longestWords) }),
				...(data === undefined ? {} : { data: cutRecord(data) }),
			};
		}
		case 'score':
			return event.note === undefined ? event : { ...event, note: cut(event.note, longestWords) };
		case 'prune':
			return { ...event, reason: cut(event.reason, longestWords) };
		case 'critique':
			return { ...event, missing: cutAll(event.missing), superfluous: cutAll(event.superfluous) };
		case 'tool':
			return {
				...event,
				arguments: cutValue(event.arguments),
				...(event.result === undefined ? {} : { result: cutValue(event.result) }),
				...(event.error === undefined ? {} : { error: cut(event.error, longestWords) }),
			};
		case 'reference':
			return {
				...event,
				label: cut(event.label, longestWords),
				source: cut(event.source, longestWords),
				...(event.note === undefined ? {} : { note: cut(event.note, longestWords) }),
			};
		case 'fault':
			return { ...event, message: cut(event.message, longestWords) };
		case 'end':
			return {
				...event,
				...(event.answer === null ? {} : { answer: cut(event.answer, longestWords) }),
				...(event.message === undefined ? {} : { message: cut(event.message, longestWords) }),
			};
		default:
			return event;
	}
}
