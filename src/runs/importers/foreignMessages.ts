import type { Message } from '../../protocol/rolloutLine.ts';
import { boundedValue, type Fields, fieldsOf, listOf, parsedJson, textOf } from './foreignValues.ts';

/** Parts with tool calls and results, as in Anthropic's messages. */
const isCallPart = (part: unknown) => /^(?:server_)?tool_use$/.test(textOf(fieldsOf(part)?.type) ?? '');
const isResultPart = (part: unknown) => /tool_result$/.test(textOf(fieldsOf(part)?.type) ?? '');
const isThinkingPart = (part: unknown) => fieldsOf(part)?.type === 'thinking';

/** Placeholder for the non-text parts of a message. */
const otherPart = (type: string) => `[${type.replace(/_url$/, '')}]`;

/**
 * Returns the text of a message's content, which is a string or a list of parts, not all of them text. Returns null if
 * there is no text.
 */
export function contentText(content: unknown): string | null {
	if (typeof content === 'string') return content;
	if (!Array.isArray(content)) {
		const part = fieldsOf(content);
		return part ? contentText([part]) : null;
	}
	const texts = content.map((part: unknown) => {
		if (typeof part === 'string') return part;
		const fields = fieldsOf(part);
		return textOf(fields?.text) ?? otherPart(textOf(fields?.type) ?? 'part');
	});
	return texts.join('\n');
}

/**
 * Converts a call to OpenAI's format, `{ id, type, function: { name, arguments } }`; verifiers stores name and
 * arguments at the top level, as does Anthropic, where arguments are called `input`.
 */
function toolCall(value: unknown): unknown {
	const call = fieldsOf(value);
	if (!call) return boundedValue(parsedJson(value) ?? value);
	if (fieldsOf(call.function) || call.name === undefined) return boundedValue(call);
	const { name, arguments: ofOpenAi, input, ...rest } = call;
	const given = ofOpenAi ?? input;
	return boundedValue({ ...rest, type: 'function', function: { name, arguments: given } });
}

/** Reads calls from a list, or from the JSON text of a list. */
export function toolCalls(value: unknown): unknown[] {
	const calls = typeof value === 'string' ? parsedJson(value) : value;
	if (Array.isArray(calls)) return calls.map(toolCall);
	return fieldsOf(calls) ? [toolCall(calls)] : typeof value === 'string' && value !== '' ? [value] : [];
}

function thinkingOf(message: Fields, content: string | null): string | null {
	const thinking = textOf(message.reasoning_content) ?? textOf(message.reasoning);
	// Some trainers repeat the thinking that is already in the content.
	return thinking && !content?.includes(thinking) ? thinking : null;
}

/** Reads a chat message; returns null if it has no role. */
export function messageOf(value: unknown): Message | null {
	const message = fieldsOf(value);
	const role = textOf(message?.role);
	if (!message || role === null) return null;
	const all: unknown[] = Array.isArray(message.content) ? message.content : [];
	const spoken = all.filter((part) => !isCallPart(part) && !isThinkingPart(part));
	const content = contentText(all.length === 0 ? message.content : spoken);
	const thought = all.filter(isThinkingPart).map((part) => textOf(fieldsOf(part)?.thinking) ?? '');
	const thinking = thinkingOf(message, content) ?? (thought.length === 0 ? null : thought.join('\n'));
	const parts = all.filter(isCallPart);
	const calls = toolCalls(parts.length === 0 ? message.tool_calls : parts);
	const callId = textOf(message.tool_call_id);
	const name = textOf(message.name);
	const error = message.error ?? null;
	return {
		role,
		content,
		...(thinking === null ? {} : { reasoning_content: thinking }),
		...(calls.length === 0 ? {} : { tool_calls: calls }),
		...(callId === null ? {} : { tool_call_id: callId }),
		...(name === null ? {} : { name }),
		...(error === null ? {} : { error: boundedValue(error) }),
		...(typeof message.is_error === 'boolean' ? { is_error: message.is_error } : {}),
	};
}

/** Reads a message. If it contains the results of several calls, each of them becomes a separate message. */
function messagesIn(value: unknown): (Message | null)[] {
	const message = fieldsOf(value);
	const parts: unknown[] = Array.isArray(message?.content) ? message.content : [];
	if (!parts.some(isResultPart)) return [messageOf(value)];
	const results = parts.filter(isResultPart).map((part): Message => {
		const result = fieldsOf(part);
		const callId = textOf(result?.tool_use_id);
		return {
			role: 'tool',
			content: contentText(result?.content ?? ''),
			...(callId === null ? {} : { tool_call_id: callId }),
			...(typeof result?.is_error === 'boolean' ? { is_error: result.is_error } : {}),
		};
	});
	const rest = parts.filter((part) => !isResultPart(part));
	return rest.length === 0 ? results : [...results, messageOf({ ...message, content: rest })];
}

/** Reads a chat; returns null if the value is not a list of messages. */
export function messagesOf(value: unknown): Message[] | null {
	if (!Array.isArray(value)) return null;
	const messages: Message[] = [];
	for (const message of listOf(value).flatMap(messagesIn)) {
		if (!message) return null;
		messages.push(message);
	}
	return messages;
}

/** Reads a prompt or a completion, as text or as a chat; returns null if it is neither. */
export function textOrMessages(value: unknown): string | Message[] | null {
	return textOf(value) ?? messagesOf(value);
}
