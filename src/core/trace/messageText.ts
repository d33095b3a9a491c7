import { parseBoundedJson } from '../../base/boundedJson.ts';
import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';

/** Tool call in an assistant message; `arguments` is text, formatted as JSON if possible. */
export interface ToolCall {
	/** null if not recorded. */
	readonly id: string | null;
	readonly name: string;
	readonly arguments: string;
}

/** Chat message split into its parts. */
export interface Turn {
	readonly role: string;
	/** Name of the speaker or tool; null if not recorded. */
	readonly name: string | null;
	/** The message's `reasoning_content`; thinking in tags remains in the content. */
	readonly thinking: string | null;
	readonly content: string;
	readonly calls: readonly ToolCall[];
	/** Id of the call being answered; only for tool results. */
	readonly callId: string | null;
}

const maxCalls = 1000;
const asText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function jsonOf(text: string): unknown {
	try {
		return parseBoundedJson(text);
	} catch {
		return undefined;
	}
}

/**
 * Parses a tool call in the formats that trainers use: OpenAI's `{id, function: {name, arguments}}`, flat `{id, name,
 * arguments}`, Anthropic's `{id, name, input}`, Inspect's `{id, function, arguments}`, or any of them as JSON text.
 * Arguments may be JSON text or an object.
 */
function toolCall(value: unknown): ToolCall {
	const given = typeof value === 'string' ? (jsonOf(value) ?? value) : value;
	if (typeof given !== 'object' || given === null) {
		return { id: null, name: '', arguments: typeof given === 'string' ? given : (JSON.stringify(given) ?? '') };
	}
	const call = given as { id?: unknown; function?: unknown; name?: unknown; arguments?: unknown; input?: unknown };
	const body = (typeof call.function === 'object' && call.function !== null ? call.function : call) as typeof call;
	const args = body.arguments ?? body.input;
	return {
		id: asText(call.id),
		name: asText(body.name) ?? asText(call.function) ?? '',
		arguments: typeof args === 'string' ? args : args === undefined ? '' : (JSON.stringify(args) ?? ''),
	};
}

/** Splits messages into their parts, preserving order. */
export function turnsOf(messages: readonly Message[]): Turn[] {
	return messages.map((message) => {
		const { role, content, reasoning_content: thinking, tool_calls: calls, tool_call_id: callId, name } = message;
		return {
			role,
			name: asText(name),
			thinking: asText(thinking),
			content: content ?? '',
			calls: Array.isArray(calls) ? calls.slice(0, maxCalls).map(toolCall) : [],
			callId: asText(callId),
		};
	});
}

function turnText({ thinking, content, calls }: Turn): string {
	const parts: string[] = [];
	if (thinking !== null) parts.push(`<think>\n${thinking.trim()}\n</think>`);
	if (content !== '') parts.push(content);
	for (const call of calls) parts.push(`${call.name}(${call.arguments})`);
	return parts.join('\n');
}

/**
 * Converts a prompt or completion to a single string. If there are several messages, each one starts with its role.
 * Separately recorded thinking is placed in think tags before the content, as in the DeepSeek-R1 and Qwen3 chat
 * templates.
 */
export function messageText(value: RolloutLine['completion']): string {
	if (typeof value === 'string') return value;
	const turns = turnsOf(value);
	const [only] = turns;
	if (only !== undefined && turns.length === 1) return turnText(only);
	return turns.map((turn) => `${turn.role}:\n${turnText(turn)}`).join('\n\n');
}

/** Returns whether a completion is more than a single assistant message and should be displayed turn by turn. */
export function hasTurns(value: RolloutLine['completion']): value is Message[] {
	if (typeof value === 'string') return false;
	const [only] = value;
	return value.length > 1 || (only !== undefined && (only.role !== 'assistant' || Array.isArray(only.tool_calls)));
}
