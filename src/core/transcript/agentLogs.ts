import { field, isTable, textField } from './pythonValue.ts';
import { isMessage } from './readMessage.ts';

/** Conversation in an agent log, converted to plain messages. */
export interface LoggedConversation {
	readonly title: string;
	readonly messages: readonly unknown[];
	/** Tool declarations from the file. */
	readonly tools?: unknown;
	/** Error recorded in the log, as display text; null if there is none. */
	readonly error: string | null;
}

/** Maximum number of conversations to read per record. */
const maxConversations = 5000;

/** Returns the value if it is an object, otherwise null. */
const tableOf = (value: unknown) => (isTable(value) ? value : null);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the text of an error, or the type and message of an error object; null if there is none. */
export function errorText(value: unknown): string | null {
	if (value === undefined || value === null || value === '') return null;
	if (typeof value === 'string') return value.slice(0, 300);
	const words = [textField(value, 'type'), textField(value, 'code'), textField(value, 'message')];
	return (
		words
			.filter((word) => word !== null && word !== '')
			.join(': ')
			.slice(0, 300) || 'unknown error'
	);
}

/**
 * Returns the conversations in an agent log: an Inspect log or one of its samples, a line of OpenAI batch output, or a
 * verifiers episode or trace. Returns null for any other value.
 */
export function agentConversations(value: unknown, title: string): LoggedConversation[] | null {
	return inspectLog(value) ?? inspectSample(value) ?? batchOutput(value, title) ?? verifiersTraces(value, title);
}

/** Reads `inspect_ai.log.EvalLog` JSON (inspect_ai/log/_log.py). */
function inspectLog(value: unknown): LoggedConversation[] | null {
	const samples = field(value, 'samples');
	if (field(value, 'eval') === undefined || !Array.isArray(samples)) return null;
	const read = samples.slice(0, maxConversations).flatMap((sample) => inspectSample(sample) ?? []);
	return read.length === 0 && samples.length > 0 ? null : read;
}

/** Reads the messages of an `EvalSample`, with token counts and stop reasons from `output` and the model events. */
function inspectSample(value: unknown): LoggedConversation[] | null {
	const messages = field(value, 'messages');
	if (!Array.isArray(messages) || field(value, 'epoch') === undefined || !isTable(field(value, 'scores') ?? {}))
		return null;
	if (field(value, 'output') === undefined && field(value, 'input') === undefined) return null;
	const answers = new Map<string, LoggedAnswer>();
	let tools: unknown;
	for (const event of listOf(field(value, 'events'))) {
		if (textField(event, 'event') !== 'model') continue;
		for (const [key, answer] of loggedAnswers(field(event, 'output'))) answers.set(key, answer);
		tools ??= field(event, 'tools');
	}
	for (const [key, answer] of loggedAnswers(field(value, 'output'))) answers.set(key, answer);
	const attachments = new Map<string, string>();
	for (const [key, text] of Object.entries(tableOf(field(value, 'attachments')) ?? {})) {
		if (typeof text === 'string') attachments.set(key, text);
	}
	const whole = messages.map((message) => loggedMessage(message, { answers, attachments }));
	const id = field(value, 'id');
	const epoch = field(value, 'epoch');
	const name = typeof id === 'string' || typeof id === 'number' ? id : '?';
	const title = sampleTitle(name, typeof epoch === 'number' ? epoch : 1);
	return [{ title, messages: whole, tools, error: errorText(field(value, 'error')) }];
}

export const sampleTitle = (id: string | number, epoch: number) =>
	epoch > 1 ? `Sample ${id}, epoch ${epoch}` : `Sample ${id}`;

/** Token usage and stop reason of an answer, which Inspect stores separately from the messages. */
export interface LoggedAnswer {
	readonly usage: unknown;
	readonly stop_reason: unknown;
}

/** Parts of an Inspect sample that its messages refer to. */
export interface LoggedContext {
	/** Answers by message id. */
	readonly answers: ReadonlyMap<string, LoggedAnswer>;
	/** Text that is stored once for several messages, by key. */
	readonly attachments: ReadonlyMap<string, string>;
}

/** Returns the answers in a `ModelOutput`, by message id. */
export function loggedAnswers(output: unknown): [string, LoggedAnswer][] {
	return listOf(field(output, 'choices')).flatMap((choice): [string, LoggedAnswer][] => {
		const id = textField(field(choice, 'message'), 'id');
		return id === null ? [] : [[id, { usage: field(output, 'usage'), stop_reason: field(choice, 'stop_reason') }]];
	});
}

/** Converts a message of an Inspect sample to a format that `readMessage` reads. */
export function loggedMessage(message: unknown, { answers, attachments }: LoggedContext): unknown {
	const id = textField(message, 'id');
	const answer = id === null ? undefined : answers.get(id);
	const attached = withAttachments(inspectMessage(message), attachments, 0);
	return answer !== undefined && isTable(attached) ? { ...answer, ...attached } : attached;
}

/**
 * Converts the fields of a message. Inspect stores the function name where other formats have an object, and stores
 * failures in `error`.
 */
function inspectMessage(message: unknown): unknown {
	if (!isTable(message)) return message;
	const calls = field(message, 'tool_calls');
	const error = field(message, 'error');
	return {
		...message,
		...(Array.isArray(calls) ? { tool_calls: calls.map(namedCall) } : {}),
		...(error === undefined ? {} : { is_error: true }),
	};
}

function namedCall(call: unknown): unknown {
	const name = textField(call, 'function');
	return name === null || !isTable(call) ? call : { ...call, function: { name, arguments: field(call, 'arguments') } };
}

const attachment = /^attachment:\/\/(\w{1,128})$/;

/** Resolves references to text that the log stores once for several messages. */
function withAttachments(value: unknown, attachments: ReadonlyMap<string, string>, depth: number): unknown {
	if (attachments.size === 0 || depth > 8) return value;
	if (typeof value === 'string') {
		const key = attachment.exec(value)?.[1];
		return (key === undefined ? undefined : attachments.get(key)) ?? value;
	}
	if (Array.isArray(value)) return value.map((item) => withAttachments(item, attachments, depth + 1));
	if (!isTable(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([key, inner]) => [key, withAttachments(inner, attachments, depth + 1)]),
	);
}

/**
 * Reads a line of OpenAI batch output: the response to the request with that `custom_id`. The request itself is in a
 * different file.
 */
function batchOutput(value: unknown, title: string): LoggedConversation[] | null {
	const name = textField(value, 'custom_id');
	if (name === null || !isTable(value) || !('response' in value || 'error' in value)) return null;
	const response = field(value, 'response');
	const body = field(response, 'body');
	const status = field(response, 'status_code');
	const refused = typeof status === 'number' && status >= 400 ? `status ${status}` : null;
	const error = errorText(field(value, 'error')) ?? errorText(field(body, 'error')) ?? refused;
	const shared = { usage: field(body, 'usage'), model: field(body, 'model') };
	const choices = listOf(field(body, 'choices'));
	const answers = choices.map((choice) => ({
		...shared,
		...tableOf(field(choice, 'message')),
		finish_reason: field(choice, 'finish_reason'),
	}));
	const items = listOf(field(body, 'output')).filter(isMessage);
	if (answers.length === 0) return [{ title: name || title, messages: items, error }];
	return answers.slice(0, 128).map((answer, i) => ({
		title: answers.length === 1 ? name : `${name}, choice ${i + 1}`,
		// Token counts in a response cover all of its choices.
		messages: [i === 0 ? answer : { ...answer, usage: undefined }],
		error: i === 0 ? error : null,
	}));
}

/**
 * Reads episodes and traces from verifiers v1 (verifiers/v1/trace.py). A trace is a graph of messages linked by
 * `parent`.
 */
function verifiersTraces(value: unknown, title: string): LoggedConversation[] | null {
	const bare = Array.isArray(field(value, 'nodes'));
	const traces = bare ? [value] : field(value, 'traces');
	if (!Array.isArray(traces) || !traces.every((trace) => Array.isArray(field(trace, 'nodes')))) return null;
	const key = textField(value, 'id') ?? title;
	const failed =
		listOf(field(value, 'errors'))
			.map(errorText)
			.find((error) => error !== null) ?? null;
	if (traces.length === 0) return [{ title: key, messages: [], error: failed ?? 'no trace' }];
	return traces.slice(0, 64).flatMap((trace) => traceBranches(trace, key, traces.length > 1, failed));
}

function traceBranches(trace: unknown, key: string, several: boolean, failed: string | null): LoggedConversation[] {
	const nodes = listOf(field(trace, 'nodes'));
	const parents = nodes.map((node, i) => {
		const parent = field(node, 'parent');
		return typeof parent === 'number' && Number.isInteger(parent) && parent >= 0 && parent < i ? parent : null;
	});
	const calls = listOf(field(trace, 'calls'));
	const sampled = nodes.flatMap((node, i) => (field(node, 'sampled') === true ? [i] : []));
	const callOf = new Map(sampled.length === calls.length ? sampled.map((node, i) => [node, calls[i]] as const) : []);
	const inner = new Set(parents);
	const leaves = nodes.map((_, i) => i).filter((i) => !inner.has(i));
	const agent = textField(field(trace, 'agent'), 'name');
	const error =
		listOf(field(trace, 'errors'))
			.map(errorText)
			.find((one) => one !== null) ?? failed;
	const title = several && agent !== null ? `${key}, ${agent}` : key;
	return leaves.slice(0, 64).map((leaf, branch) => {
		const path: number[] = [];
		for (let at: number | null = leaf; at !== null; at = parents[at] ?? null) path.push(at);
		const messages = path.reverse().map((i) => {
			const message = field(nodes[i], 'message');
			const call = callOf.get(i);
			if (!isTable(message) || call === undefined) return message;
			return { usage: field(call, 'usage'), finish_reason: field(call, 'finish_reason'), ...message };
		});
		return {
			title: leaves.length > 1 ? `${title}, branch ${branch + 1}` : title,
			messages,
			tools: field(trace, 'tools'),
			error,
		};
	});
}

/**
 * Returns the messages in a chunk of LangGraph's update stream: `{node: {messages: [...]}}`, wrapped as `[namespace,
 * chunk]` or `["updates", chunk]` if several modes or subgraphs are streamed, or as `{type: "updates", data: chunk}`.
 * Empty if the nodes wrote no messages; null if the value is not such a chunk.
 */
export function updateMessages(value: unknown): unknown[] | null {
	if (Array.isArray(value)) {
		const chunk = value.at(-1);
		const heads = value.slice(0, -1);
		const framed =
			value.length >= 2 && value.length <= 3 && heads.every((head) => head === 'updates' || isNamespace(head));
		return framed && isTable(chunk) ? updateMessages(chunk) : null;
	}
	if (textField(value, 'type') === 'updates' && isTable(field(value, 'data')))
		return updateMessages(field(value, 'data'));
	const table = tableOf(value);
	if (table === null || isMessage(value)) return null;
	const entries = Object.entries(table);
	if (entries.length === 0 || entries.length > 64) return null;
	let written = false;
	const messages: unknown[] = [];
	for (const [node, update] of entries) {
		if (update === null || node.startsWith('__')) continue;
		const parts = Array.isArray(update) ? update : [update];
		for (const part of parts) {
			if (!isTable(part)) return null;
			const own = field(part, 'messages');
			if (own === undefined) continue;
			const list = Array.isArray(own) ? own : [own];
			if (!list.every(isMessage)) return null;
			written = true;
			messages.push(...list);
		}
	}
	return written || entries.every(([node, update]) => node.startsWith('__') || update === null) ? messages : null;
}

const isNamespace = (value: unknown) => Array.isArray(value) && value.every((part) => typeof part === 'string');
