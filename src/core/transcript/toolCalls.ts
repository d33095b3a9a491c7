import { field, isTable, PythonCall, textField } from './pythonValue.ts';
import type { ToolCall } from './transcript.ts';

/** Formats any value from a file as JSON; a Python call becomes an object with its name. */
export function jsonText(value: unknown, indent?: number): string {
	const plain = (_key: string, inner: unknown): unknown =>
		inner instanceof PythonCall ? { [`${inner.name}()`]: { ...inner.named } } : inner;
	try {
		return JSON.stringify(value, plain, indent) ?? '';
	} catch {
		return '';
	}
}

/** Reads arguments given as JSON text (OpenAI) or as an object (LangChain, Anthropic). */
function readArguments(value: unknown): Pick<ToolCall, 'arguments' | 'text' | 'fault'> {
	if (typeof value !== 'string') return { arguments: value ?? {}, text: jsonText(value ?? {}, 2), fault: null };
	if (value.trim() === '') return { arguments: {}, text: value, fault: null };
	try {
		return { arguments: JSON.parse(value), text: value, fault: null };
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		return { arguments: undefined, text: value, fault: `The arguments are not valid JSON: ${why.slice(0, 200)}` };
	}
}

/**
 * Reads a call in any supported format: `{name, args}`, `{function: {name, arguments}}`, `{type: 'tool_use', name,
 * input}`.
 */
export function readCall(value: unknown): ToolCall | null {
	if (!isTable(value) && !(value instanceof PythonCall)) return null;
	const inner = field(value, 'function');
	const named = inner === undefined ? value : inner;
	const name = textField(named, 'name');
	if (name === null) return null;
	const id = textField(value, 'id') ?? textField(value, 'call_id');
	const given = field(named, 'arguments') ?? field(named, 'args') ?? field(named, 'input');
	return { id, name, ...readArguments(given) };
}

export function readCalls(value: unknown): ToolCall[] {
	return Array.isArray(value) ? value.map(readCall).filter((call) => call !== null) : [];
}

/** Formats a value as JSON with sorted keys, so that equal values have equal text. */
export function canonicalText(value: unknown): string {
	return jsonText(sorted(value, 0));
}

function sorted(value: unknown, depth: number): unknown {
	if (depth > 200) return null;
	if (Array.isArray(value)) return value.map((item) => sorted(item, depth + 1));
	if (!isTable(value)) return value;
	const out: Record<string, unknown> = Object.create(null);
	for (const key of Object.keys(value).sort()) out[key] = sorted(value[key], depth + 1);
	return out;
}
