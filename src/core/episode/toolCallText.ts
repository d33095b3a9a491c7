import type { ToolSchema } from '../../protocol/environmentHost.ts';
import type { ToolCall } from '../../protocol/episode.ts';
import type { TagPair } from '../text/template.ts';
import { argumentList } from './argumentList.ts';
import { argumentValue, jsonOf } from './argumentValue.ts';

/** Maximum number of calls in one turn; the rest are ignored, because a model can write thousands of empty ones. */
export const maxCallsPerTurn = 32;

/**
 * Returns the tool calls in a policy's turn: the contents of each pair of tags. Never throws. Three formats are
 * supported:
 * - compact: `guess 50`, the name and then the arguments in schema order; the last one takes the remaining text
 * - function: `guess(50)` or `guess(number=50)`
 * - JSON: `{"name": "guess", "arguments": {"number": 50}}`, or a list of these
 *
 * The text of an unreadable call becomes its arguments, so that the environment responds with an error that the policy
 * sees.
 */
export function parseToolCalls(text: string, [open, close]: TagPair, tools: readonly ToolSchema[]): ToolCall[] {
	const calls: ToolCall[] = [];
	for (let at = text.indexOf(open); at >= 0 && calls.length < maxCallsPerTurn; ) {
		const start = at + open.length;
		const end = text.indexOf(close, start);
		if (end < 0) break;
		calls.push(...callsIn(text.slice(start, end).trim(), tools));
		at = text.indexOf(open, end + close.length);
	}
	return calls.slice(0, maxCallsPerTurn);
}

/** Returns a turn's text without its tool calls, readable or not. Keeps unclosed calls. */
export function textWithoutCalls(text: string, [open, close]: TagPair): string {
	let content = '';
	let at = 0;
	for (let start = text.indexOf(open); start >= 0; start = text.indexOf(open, at)) {
		const end = text.indexOf(close, start + open.length);
		if (end < 0) break;
		content += text.slice(at, start);
		at = end + close.length;
	}
	return content + text.slice(at);
}

/** Formats a call without tags: in compact form if that parses to the same call, otherwise as JSON. */
export function renderToolCall(call: ToolCall, tools: readonly ToolSchema[]): string {
	const compact = compactText(call, tools);
	if (compact !== null && !compact.includes('<')) {
		const read = callsIn(compact, tools);
		if (compact === compact.trim() && JSON.stringify(read) === JSON.stringify([call])) return compact;
	}
	// Escape arguments so that they do not contain tags.
	return JSON.stringify({ name: call.name, arguments: call.arguments ?? null }).replaceAll('<', '\\u003c');
}

function compactText({ name, arguments: given }: ToolCall, tools: readonly ToolSchema[]): string | null {
	const schema = tools.find((tool) => tool.name === name);
	if (schema === undefined || typeof given !== 'object' || given === null || Array.isArray(given)) return null;
	const values = Object.values(given).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
	return [name, ...values].join(' ');
}

function callsIn(text: string, tools: readonly ToolSchema[]): ToolCall[] {
	if (text.startsWith('{') || text.startsWith('[')) return jsonCalls(text);
	const written = /^([\p{L}_][\p{L}\p{N}_.]*)\s*\((.*)\)$/su.exec(text);
	if (written !== null) return [functionCall(written[1] as string, written[2] as string, tools)];
	const space = text.search(/\s/);
	const name = space < 0 ? text : text.slice(0, space);
	return [compactCall(name, space < 0 ? '' : text.slice(space).trim(), tools)];
}

function jsonCalls(text: string): ToolCall[] {
	const value = jsonOf(text);
	const calls = (Array.isArray(value) ? value.slice(0, maxCallsPerTurn) : [value]).map(jsonCall);
	return calls.length === 0 || calls.some((call) => call === null)
		? [{ name: '', arguments: text }]
		: (calls as ToolCall[]);
}

/** Returns a call written as an object, either bare or in chat message format. */
function jsonCall(value: unknown): ToolCall | null {
	if (typeof value !== 'object' || value === null) return null;
	const { name, arguments: given, function: inner } = value as Record<string, unknown>;
	if (inner !== undefined && name === undefined) return jsonCall(inner);
	if (typeof name !== 'string') return null;
	return { name, arguments: typeof given === 'string' ? (jsonOf(given) ?? given) : (given ?? {}) };
}

function functionCall(name: string, text: string, tools: readonly ToolSchema[]): ToolCall {
	const list = argumentList(text);
	if (list === null) return { name, arguments: text };
	const properties = propertiesOf(name, tools);
	const entries = list.map(({ key, text: value }, i) => {
		const named = key ?? properties[i]?.[0] ?? `argument${i + 1}`;
		return [named, argumentValue(value, properties.find(([property]) => property === named)?.[1])] as const;
	});
	return { name, arguments: Object.fromEntries(entries) };
}

function compactCall(name: string, text: string, tools: readonly ToolSchema[]): ToolCall {
	const properties = propertiesOf(name, tools);
	if (text === '') return { name, arguments: {} };
	if (properties.length === 0) return { name, arguments: text };
	const entries: (readonly [string, unknown])[] = [];
	let rest = text;
	for (const [i, [property, schema]] of properties.entries()) {
		if (rest === '') break;
		const space = i === properties.length - 1 ? -1 : rest.search(/\s/);
		const word = space < 0 ? rest : rest.slice(0, space);
		rest = space < 0 ? '' : rest.slice(space).trim();
		entries.push([property, argumentValue(word, schema)]);
	}
	return { name, arguments: Object.fromEntries(entries) };
}

function propertiesOf(name: string, tools: readonly ToolSchema[]): (readonly [string, Record<string, unknown>])[] {
	return Object.entries(tools.find((tool) => tool.name === name)?.parameters.properties ?? {});
}
