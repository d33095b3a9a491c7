import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { agentConversations, updateMessages } from './agentLogs.ts';
import { findLists } from './findLists.ts';
import { linkCalls } from './linkCalls.ts';
import { field, isTable, textField } from './pythonValue.ts';
import { isMessage, readMessage } from './readMessage.ts';
import type {
	DeclaredTool,
	Place,
	Transcript,
	TranscriptFault,
	TranscriptFile,
	TranscriptFormat,
	TranscriptMessage,
} from './transcript.ts';

/** File limits; anything beyond them is counted as a fault. */
export const transcriptLimits = {
	/** Maximum size in UTF-16 code units. */
	characters: 32 * 1024 * 1024,
	transcripts: 5000,
	messages: 20_000,
	faults: 200,
} as const;

/** Collects the contents of a file, up to the limits. */
class Collector {
	readonly transcripts: Transcript[] = [];
	readonly faults: TranscriptFault[] = [];
	moreFaults = 0;
	#messages = 0;
	#overflowed = false;

	/** Whether anything was omitted. */
	get overflowed(): boolean {
		return this.#overflowed;
	}

	get full(): boolean {
		return this.#messages >= transcriptLimits.messages || this.transcripts.length >= transcriptLimits.transcripts;
	}

	fault(message: string, place: Place | null): void {
		if (this.faults.length < transcriptLimits.faults) this.faults.push({ place, message });
		else this.moreFaults++;
	}

	/** Reports an exceeded limit once; nothing after it is read. */
	#overflow(place: Place | null): void {
		if (this.#overflowed) return;
		this.#overflowed = true;
		const { messages, transcripts } = transcriptLimits;
		this.fault(`Only the first ${messages} messages and ${transcripts} conversations are read`, place);
	}

	/** Adds a list of messages; other values are reported as faults. */
	add(values: readonly PlacedValue[], about: Conversation): void {
		if (this.full) {
			this.#overflow(values[0]?.place ?? null);
			return;
		}
		const messages: TranscriptMessage[] = [];
		for (const { value, place } of [...about.before, ...values, ...about.after]) {
			if (this.full) {
				this.#overflow(place);
				break;
			}
			const read = readMessage(
				value,
				place,
				about.after.some((item) => item.value === value) ? about.usage : undefined,
			);
			if (read.length === 0) this.fault('Not a message', place);
			for (const message of read) messages.push({ ...message, index: messages.length });
			this.#messages += read.length;
		}
		if (messages.length === 0) return;
		this.transcripts.push({ title: about.title, messages, tools: about.tools, ...linkCalls(messages) });
	}
}

interface PlacedValue {
	readonly value: unknown;
	readonly place: Place | null;
}

interface Conversation {
	readonly title: string;
	readonly tools: readonly DeclaredTool[];
	readonly before: readonly PlacedValue[];
	readonly after: readonly PlacedValue[];
	readonly usage: unknown;
}

const plain: Omit<Conversation, 'title'> = { tools: [], before: [], after: [], usage: undefined };

/**
 * Parses a chat log: a list of messages in JSON or as printed by Python (anywhere in the text), an object that contains
 * such a list, or JSON Lines with a message, a list or an object per line. Pure; nothing in the text is evaluated, and
 * time and memory are linear in its length. Throws `invalid` if it contains no messages, `unsupported` if it is too
 * long.
 * @param name file name for error messages
 */
export function readTranscript(text: string, name: string): TranscriptFile {
	if (text.length > transcriptLimits.characters) {
		throw new Failure(
			'unsupported',
			`${name} is too long: it has ${formatCounted(text.length, 'character')}, and the inspector reads at most ${transcriptLimits.characters}.`,
			'Save the conversation that you want to inspect to a separate file.',
		);
	}
	const collector = new Collector();
	const format = readInto(collector, text);
	const { transcripts, faults, moreFaults } = collector;
	if (transcripts.length === 0) {
		const [first] = faults;
		const why = first === undefined ? '' : ` ${describe(first)}`;
		throw new Failure(
			'invalid',
			`${name} does not contain a list of messages.${why}`,
			'Open a chat log in JSON or JSONL format, or a text file with messages printed by Python.',
		);
	}
	return { format, transcripts, faults, moreFaults };
}

/** Formats a fault as one sentence. */
export function describe({ place, message }: TranscriptFault): string {
	return place === null ? `${message}.` : `Line ${place.line}, column ${place.column}: ${message}.`;
}

function readInto(collector: Collector, text: string): TranscriptFormat {
	const body = text.trimStart();
	const opens = body.startsWith('[') || body.startsWith('{');
	if (opens) {
		let value: unknown;
		let whole = true;
		try {
			value = parseBoundedJson(body);
		} catch {
			whole = false;
		}
		if (whole) {
			readValue(collector, value, '', { line: 1, column: 1 });
			return 'json';
		}
		if (looksLikeLines(body)) {
			readLines(collector, text);
			return 'jsonl';
		}
	}
	const updates: PlacedValue[] = [];
	for (const list of findLists(text, opens)) {
		// Chunks from the same stream form one conversation.
		if (updateHead.test(text.slice(Math.max(0, list.offset - 300), list.offset))) updates.push(...list.values);
		else collector.add(list.values, { ...plain, title: `Line ${list.place.line}` });
		if (list.fault) collector.fault(`The list is incomplete: ${list.fault.message}`, list.fault.place);
		if (collector.overflowed) break;
	}
	if (updates.length > 0) collector.add(updates, { ...plain, title: streamTitle });
	return opens && collector.transcripts.length === 0 ? 'json' : 'python';
}

const streamTitle = 'Stream of updates';
/** Matches the text before the messages in a LangGraph stream chunk: `{'agent': {'messages': `. */
const updateHead = /\{\s*['"][^'"{}]{1,80}['"]\s*:\s*\{[^[\]{}]{0,150}['"]messages['"]\s*:\s*$/;

/** Returns whether each line is a complete object; false for a list that spans several lines. */
function looksLikeLines(text: string): boolean {
	const rows = text
		.slice(0, 8 * 1024 * 1024)
		.split('\n', 20)
		.map((row) => row.trim())
		.filter((row) => row !== '');
	const [first = ''] = rows;
	const parses = (row: string): boolean => {
		try {
			return /^[[{]/.test(row) && typeof parseBoundedJson(row) === 'object';
		} catch {
			return false;
		}
	};
	if (parses(first)) return rows.length > 1;
	return !rows.some((row) => row.endsWith(',') || row === '[' || row === '{') && rows.some(parses);
}

function readLines(collector: Collector, text: string): void {
	let line = 0;
	const loose: PlacedValue[] = [];
	const updates: PlacedValue[] = [];
	for (let at = 0; at < text.length && !collector.overflowed; ) {
		const feed = text.indexOf('\n', at);
		const end = feed === -1 ? text.length : feed;
		const row = text.slice(at, end).trim();
		at = end + 1;
		line++;
		if (row === '') continue;
		const place = { line, column: 1 };
		let value: unknown;
		try {
			value = parseBoundedJson(row);
		} catch {
			collector.fault(feed === -1 ? 'The last line is incomplete' : 'The line is not valid JSON', place);
			continue;
		}
		if (isMessage(value)) loose.push({ value, place });
		else if (!addConversations(collector, value, `Line ${line}`, place)) {
			const messages = updateMessages(value);
			if (messages === null) readValue(collector, value, `Line ${line}`, place);
			else for (const message of messages) updates.push({ value: message, place });
		}
	}
	if (updates.length > 0) collector.add(updates, { ...plain, title: streamTitle });
	if (loose.length > 0) collector.add(loose, { ...plain, title: 'All lines' });
}

/**
 * Adds the conversations in a value.
 * @returns false if there are none
 */
function addConversations(collector: Collector, value: unknown, title: string, place: Place): boolean {
	const logged = agentConversations(value, title);
	if (logged !== null) {
		for (const { title: name, messages, tools, error } of logged) {
			if (collector.overflowed) break;
			const values = messages.map((message) => ({ value: message, place }));
			collector.add(values, { ...plain, title: name, tools: readTools(tools) });
			if (error !== null) collector.fault(`${name} failed: ${error}`, place);
		}
		return true;
	}
	const found = readConversation(value, title, place);
	if (found !== null) collector.add(found.values, found.about);
	return found !== null;
}

/** Reads a list of messages, a list of conversations, or a single conversation. */
function readValue(collector: Collector, value: unknown, title: string, place: Place): void {
	if (addConversations(collector, value, title, place)) return;
	const chunk = updateMessages(value);
	const chunks = Array.isArray(value) && chunk === null ? value.map(updateMessages) : [chunk];
	if (chunks.some((messages) => messages !== null && messages.length > 0) && chunks.every((one) => one !== null)) {
		const values = chunks.flatMap((messages) => (messages ?? []).map((message) => ({ value: message, place })));
		collector.add(values, { ...plain, title: streamTitle });
		return;
	}
	if (Array.isArray(value)) {
		for (const [i, item] of value.entries()) {
			if (collector.overflowed) return;
			const name = `${title === '' ? '' : `${title}, `}conversation ${i + 1}`;
			if (!addConversations(collector, item, name, place))
				collector.fault(`Item ${i + 1} is not a message or a conversation`, place);
		}
		return;
	}
	collector.fault('No list of messages found', place);
}

/** Fields that can contain the messages, in search order. */
const listFields = [
	'messages',
	'conversations',
	'conversation',
	'chat_history',
	'history',
	'turns',
	'trajectory',
] as const;

function readConversation(
	value: unknown,
	title: string,
	place: Place,
	depth = 0,
): { values: PlacedValue[]; about: Conversation } | null {
	const at = (list: readonly unknown[]): PlacedValue[] => list.map((item) => ({ value: item, place }));
	if (Array.isArray(value)) {
		return value.some(isMessage) ? { values: at(value), about: { ...plain, title } } : null;
	}
	if (!isTable(value)) return null;
	if (isMessage(value)) return { values: at([value]), about: { ...plain, title } };
	const named = textField(value, 'id') ?? textField(value, 'title') ?? title;
	const tools = readTools(field(value, 'tools') ?? field(value, 'functions'));
	const system = field(value, 'system');
	const before = system === undefined ? [] : at([{ role: 'system', content: system }]);
	for (const name of listFields) {
		const list = field(value, name);
		if (!Array.isArray(list) || !list.some(isMessage)) continue;
		return {
			values: at(list),
			about: { title: named, tools, before, after: at(answersOf(value)), usage: field(value, 'usage') },
		};
	}
	const prompt = field(value, 'prompt') ?? field(value, 'input');
	const completion = field(value, 'completion') ?? field(value, 'output');
	if (completion !== undefined) {
		const asked = sideOf(prompt, 'user');
		const answered = sideOf(completion, 'assistant');
		if (asked !== null && answered !== null) {
			return {
				values: at(asked),
				about: { title: named, tools, before, after: at(answered), usage: field(value, 'usage') },
			};
		}
	}
	if (depth >= 3) return null;
	for (const name of ['request', 'body', 'data', 'state', 'output', 'result', 'kwargs', 'values']) {
		const inner = readConversation(field(value, name), named, place, depth + 1);
		if (inner === null) continue;
		const response = field(value, 'response');
		const answers = at(answersOf(response));
		const usage = field(response, 'usage') ?? inner.about.usage;
		return { values: inner.values, about: { ...inner.about, after: [...inner.about.after, ...answers], usage } };
	}
	return null;
}

/** Returns the messages in a response: OpenAI's choices, or the response itself if it is a message. */
function answersOf(response: unknown): unknown[] {
	const choices = field(response, 'choices');
	if (Array.isArray(choices)) return choices.slice(0, 1).map((choice) => field(choice, 'message'));
	return isTable(response) && textField(response, 'role') !== null ? [response] : [];
}

/** Reads one side of a rollout: messages, or text with the given role. */
function sideOf(value: unknown, role: 'user' | 'assistant'): unknown[] | null {
	if (value === undefined) return [];
	if (typeof value === 'string') return [{ role, content: value }];
	return Array.isArray(value) && (value.length === 0 || value.some(isMessage)) ? value : null;
}

/**
 * Reads tools in the formats of OpenAI (`{type, function: {name, parameters}}`) and Anthropic (`{name, input_schema}`),
 * or as plain `{name, parameters}`.
 */
export function readTools(value: unknown): DeclaredTool[] {
	if (!Array.isArray(value)) return [];
	const tools: DeclaredTool[] = [];
	for (const item of value) {
		const tool = field(item, 'function') ?? item;
		const name = textField(tool, 'name');
		if (name !== null) tools.push({ name, schema: field(tool, 'parameters') ?? field(tool, 'input_schema') ?? null });
	}
	return tools;
}
