import { parseBoundedJson } from '../../base/boundedJson.ts';
import type { Message } from '../../protocol/rolloutLine.ts';

/* Completions that are a single string with tool calls and results in tags, as in Hermes and Qwen chat templates. */

const callTags = ['<tool_call>', '</tool_call>'] as const;
const resultTags = ['<tool_response>', '</tool_response>'] as const;
const maxMessages = 20_000;

/** Chat template markup between messages, with or without special tokens. */
const glue = /(?:<\|im_end\|>\s*)?(?:<\|im_start\|>|\n)\s*(?:user|tool|assistant)\s*$/;
/** Both patterns are applied only near the ends of the text, because they take quadratic time on whitespace. */
const glueLength = 200;
const leadingGlue = /^\s*(?:<\|im_end\|>\s*)?(?:<\|im_start\|>)?\s*assistant\s*\n/;

interface TaggedPart {
	readonly kind: 'call' | 'result';
	readonly start: number;
	readonly end: number;
	/** Text between the tags. */
	readonly text: string;
}

function withoutGlue(text: string): string {
	const head = text.slice(0, glueLength).replace(leadingGlue, '') + text.slice(glueLength);
	return head.slice(0, -glueLength) + head.slice(-glueLength).replace(glue, '');
}

/** Finds calls and results in order. Unclosed tags are left in the text. */
function* taggedParts(text: string): Generator<TaggedPart> {
	let call = text.indexOf(callTags[0]);
	let result = text.indexOf(resultTags[0]);
	while (call !== -1 || result !== -1) {
		const isCall = call !== -1 && (result === -1 || call < result);
		const [open, close] = isCall ? callTags : resultTags;
		const start = isCall ? call : result;
		const closed = text.indexOf(close, start);
		if (closed === -1) return;
		const end = closed + close.length;
		yield { kind: isCall ? 'call' : 'result', start, end, text: text.slice(start + open.length, closed).trim() };
		if (call < end && call !== -1) call = text.indexOf(callTags[0], end);
		if (result < end && result !== -1) result = text.indexOf(resultTags[0], end);
	}
}

/** Returns the call in OpenAI's format, or null if the text is not JSON with a name. */
function callIn(text: string): object | null {
	try {
		const value = parseBoundedJson(text) as { name?: unknown; arguments?: unknown } | null;
		if (typeof value?.name !== 'string') return null;
		return { type: 'function', function: { name: value.name, arguments: value.arguments ?? {} } };
	} catch {
		return null;
	}
}

/** Removes calls from an assistant message's text. Unreadable calls stay in the text. */
export function withoutCalls(text: string): { readonly content: string; readonly calls: object[] } {
	if (!text.includes(callTags[0])) return { content: text, calls: [] };
	const calls: object[] = [];
	let content = '';
	let at = 0;
	for (const part of taggedParts(text)) {
		const call = part.kind === 'call' ? callIn(part.text) : null;
		if (call === null) continue;
		calls.push(call);
		content += text.slice(at, part.start);
		at = part.end;
	}
	return { content: content + text.slice(at), calls };
}

/**
 * Splits text with tool calls into messages: the policy's text with its calls, and the results. Returns null if the
 * text contains no readable call.
 */
export function messagesInText(text: string): Message[] | null {
	if (!text.includes(callTags[0])) return null;
	const messages: Message[] = [];
	let at = 0;
	let anyCall = false;
	const speak = (written: string): void => {
		const { content, calls } = withoutCalls(withoutGlue(written));
		if (content.trim() === '' && calls.length === 0) return;
		anyCall ||= calls.length > 0;
		messages.push({ role: 'assistant', content: content.trim(), ...(calls.length === 0 ? {} : { tool_calls: calls }) });
	};
	for (const part of taggedParts(text)) {
		if (part.kind !== 'result') continue;
		if (messages.length >= maxMessages) break;
		speak(text.slice(at, part.start));
		messages.push({ role: 'tool', content: part.text });
		at = part.end;
	}
	speak(text.slice(at));
	return anyCall ? messages : null;
}
