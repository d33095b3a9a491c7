import { field, isTable, PythonCall, textField } from './pythonValue.ts';
import { canonicalText, jsonText, readCall, readCalls } from './toolCalls.ts';
import type { Place, ToolCall, TranscriptMessage, TranscriptRole } from './transcript.ts';
import { readUsage, sameUsage } from './usage.ts';

/** Roles by speaker name, in lowercase and without a trailing "message" or "chunk". */
const roles: Readonly<Record<string, TranscriptRole>> = {
	system: 'system',
	developer: 'system',
	user: 'user',
	human: 'user',
	assistant: 'assistant',
	ai: 'assistant',
	model: 'assistant',
	gpt: 'assistant',
	tool: 'tool',
	function: 'tool',
	ipython: 'tool',
	tool_result: 'tool',
};

export function roleOf(label: string): TranscriptRole {
	const plain = label.toLowerCase().replace(/(?:message)?(?:chunk)?$/, '');
	return Object.hasOwn(roles, plain) ? (roles[plain] as TranscriptRole) : 'other';
}

type Draft = Omit<TranscriptMessage, 'index'>;

/** Returns whether a value is a message in a supported format. */
export function isMessage(value: unknown): boolean {
	return unwrap(value) !== null || readItem(value, null) !== null;
}

/** Reads calls and outputs that are stored alongside the messages, as in OpenAI's Responses API. */
function readItem(value: unknown, place: Place | null): Draft | null {
	const kind = textField(value, 'type');
	const common = { ...silent, label: kind ?? '', attachments: [], contradictions: [], place };
	if (kind === 'function_call') {
		const call = readCall({ ...(value as object), id: field(value, 'call_id') });
		return call && { ...common, role: 'assistant', name: null, text: '', calls: [call], result: null };
	}
	if (kind !== 'function_call_output') return null;
	const output = field(value, 'output');
	const text = typeof output === 'string' ? output : readParts(output).texts.join('\n');
	return { ...common, role: 'tool', name: null, text, result: { callId: textField(value, 'call_id'), failed: null } };
}

interface Unwrapped {
	readonly label: string;
	readonly body: unknown;
}

/**
 * Returns the label and fields of a message: `AIMessage(...)`, `{role, content}`, `{type: 'ai', data: {...}}`, `{type:
 * 'ai', content}`, `{lc: 1, id: [..., 'AIMessage'], kwargs}`, `{from: 'human', value}`.
 */
function unwrap(value: unknown): Unwrapped | null {
	if (value instanceof PythonCall) {
		const label = value.name.split('.').at(-1) as string;
		return /Message(?:Chunk)?$/.test(label) ? { label: textField(value, 'role') ?? label, body: value } : null;
	}
	if (!isTable(value)) return null;
	const role = textField(value, 'role');
	if (role !== null) return { label: role, body: value };
	const kind = textField(value, 'type');
	const data = field(value, 'data');
	if (kind !== null && isTable(data) && Object.hasOwn(data, 'content')) return { label: kind, body: data };
	const path = field(value, 'id');
	const kwargs = field(value, 'kwargs');
	if (Array.isArray(path) && isTable(kwargs)) {
		const name = path.at(-1);
		return typeof name === 'string' && /Message(?:Chunk)?$/.test(name) ? { label: name, body: kwargs } : null;
	}
	if (kind !== null && Object.hasOwn(value, 'content') && roleOf(kind) !== 'other') return { label: kind, body: value };
	const from = textField(value, 'from');
	if (from !== null && Object.hasOwn(value, 'value')) return { label: from, body: { content: field(value, 'value') } };
	return null;
}

/** Parts of a content list. */
interface Parts {
	readonly texts: string[];
	readonly thinking: string[];
	readonly calls: ToolCall[];
	readonly attachments: string[];
	/** Tool results in a user message, as in Anthropic's format. */
	readonly results: { readonly callId: string | null; readonly failed: boolean | null; readonly text: string }[];
}

function readParts(content: unknown, depth = 0): Parts {
	const parts: Parts = { texts: [], thinking: [], calls: [], attachments: [], results: [] };
	if (typeof content === 'string') parts.texts.push(content);
	if (!Array.isArray(content)) {
		if (isTable(content)) parts.texts.push(jsonText(content, 2));
		return parts;
	}
	for (const part of content) {
		if (typeof part === 'string') {
			parts.texts.push(part);
			continue;
		}
		const kind = textField(part, 'type') ?? '';
		if (kind === 'tool_use' || kind === 'server_tool_use') {
			const call = readCall(part);
			if (call) parts.calls.push(call);
		} else if (kind.endsWith('tool_result')) {
			const inner = depth < 4 ? readParts(field(part, 'content'), depth + 1) : null;
			const failed = field(part, 'is_error');
			parts.results.push({
				callId: textField(part, 'tool_use_id'),
				failed: typeof failed === 'boolean' ? failed : null,
				text: inner?.texts.join('\n') ?? '',
			});
		} else if (kind === 'thinking' || kind === 'reasoning') {
			parts.thinking.push(textField(part, 'thinking') ?? textField(part, 'reasoning') ?? textField(part, 'text') ?? '');
		} else {
			const text = textField(part, 'text') ?? textField(part, 'refusal');
			if (text !== null) parts.texts.push(text);
			else parts.attachments.push(kind === '' ? 'part' : kind.slice(0, 60));
		}
	}
	return parts;
}

/**
 * Parses a message. Returns several messages if it contains the results of several calls, and none if the value is not
 * a message.
 * @param usage token usage of the response that contains the message, if recorded there
 */
export function readMessage(value: unknown, place: Place | null, usage: unknown = undefined): Draft[] {
	const item = readItem(value, place);
	if (item !== null) return [item];
	const unwrapped = unwrap(value);
	if (unwrapped === null) return [];
	const { label, body } = unwrapped;
	const extra = field(body, 'additional_kwargs');
	const response = field(body, 'response_metadata');
	const parts = readParts(field(body, 'content'));
	const { calls, contradictions } = gatherCalls(body, extra, parts.calls);
	const stated = [
		field(body, 'usage_metadata'),
		field(response, 'token_usage'),
		field(response, 'usage'),
		field(body, 'usage'),
		usage,
	]
		.map(readUsage)
		.filter((one) => one !== null);
	const [first = null] = stated;
	const role = roleOf(label);
	const reasoning = [field(body, 'reasoning_content'), field(body, 'reasoning'), field(extra, 'reasoning_content')];
	const thinking = [...parts.thinking, ...reasoning.filter((text) => typeof text === 'string')].filter((t) => t !== '');
	const refusal = textField(body, 'refusal');
	const texts = refusal === null ? parts.texts : [...parts.texts, refusal];
	const callId = textField(body, 'tool_call_id') ?? textField(body, 'tool_use_id');
	const common = { label, attachments: [] as string[], contradictions: [] as string[], place };
	const results = parts.results.map(
		({ callId: id, failed, text }): Draft => ({
			...common,
			...silent,
			role: 'tool',
			name: null,
			text,
			result: { callId: id, failed },
		}),
	);
	const empty = texts.join('') === '' && calls.length === 0 && thinking.length === 0 && parts.attachments.length === 0;
	if (results.length > 0 && empty) return results;
	return [
		...results,
		{
			...common,
			role,
			name: textField(body, 'name'),
			text: texts.join('\n'),
			thinking: [...new Set(thinking)].join('\n'),
			calls,
			result: role === 'tool' || callId !== null ? { callId, failed: failedOf(body) } : null,
			usage: first,
			otherUsage: first === null ? null : (stated.find((other) => !sameUsage(first, other)) ?? null),
			model: textField(body, 'model') ?? textField(response, 'model_name') ?? textField(response, 'model'),
			finishReason:
				textField(body, 'finish_reason') ??
				textField(body, 'stop_reason') ??
				textField(response, 'finish_reason') ??
				textField(response, 'stop_reason'),
			attachments: parts.attachments,
			contradictions,
		},
	];
}

const silent = {
	thinking: '',
	calls: [],
	usage: null,
	otherUsage: null,
	model: null,
	finishReason: null,
} as const;

function failedOf(body: unknown): boolean | null {
	const status = textField(body, 'status');
	if (status !== null) return status === 'error';
	const flag = field(body, 'is_error');
	return typeof flag === 'boolean' ? flag : null;
}

/**
 * Collects calls, which a message can record in up to three fields. LangChain keeps the provider's copy in addition to
 * its own.
 */
function gatherCalls(
	body: unknown,
	extra: unknown,
	parts: ToolCall[],
): { calls: ToolCall[]; contradictions: string[] } {
	const own = readCalls(field(body, 'tool_calls'));
	const invalid = readCalls(field(body, 'invalid_tool_calls')).map((call) => ({
		...call,
		fault: call.fault ?? 'Cannot parse the arguments',
	}));
	const raw = readCalls(field(extra, 'tool_calls'));
	const single = readCall(field(body, 'function_call') ?? field(extra, 'function_call'));
	const calls = own.length > 0 ? [...own] : parts.length > 0 ? [...parts] : raw.length > 0 ? [...raw] : [];
	for (const call of invalid) if (!calls.some(({ id }) => id === call.id)) calls.push(call);
	if (calls.length === 0 && single) calls.push(single);
	const contradictions: string[] = [];
	if (own.length > 0) {
		for (const call of raw) {
			const twin = calls.find(({ id }) => id === call.id);
			if (!twin) contradictions.push(`the call ${call.id ?? call.name} appears only in additional_kwargs`);
			else if (twin.name !== call.name) {
				contradictions.push(`the call ${call.id} is ${twin.name} in one field and ${call.name} in another`);
			} else if (call.fault === null && canonicalText(call.arguments) !== canonicalText(twin.arguments)) {
				contradictions.push(`the arguments for the call ${call.id ?? call.name} differ between two fields`);
			}
		}
	}
	return { calls, contradictions };
}
