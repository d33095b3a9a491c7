import type { Message } from '../../../protocol/rolloutLine.ts';
import type { FolderView } from '../folderView.ts';
import { contentText, messagesOf, toolCalls } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import {
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	parsedJson,
	textOf,
} from '../foreignValues.ts';
import type { RolloutFiles, RunFormat } from '../runFormat.ts';
import { timelineOf } from '../timeline.ts';
import { topKeys } from '../topKeys.ts';

/*
 * OpenTelemetry traces in OTLP's JSON encoding, as the collector's file exporter writes them: one batch of spans per
 * line. Model calls are described by the semantic conventions for generative AI: messages in the attributes
 * gen_ai.input.messages and gen_ai.output.messages or, in older versions, in events.
 */

const patterns = [
	{ pattern: '{name}.jsonl', form: 'jsonl' },
	{ pattern: '{name}.json', form: 'json' },
] as const;
const calls = new Set(['chat', 'text_completion', 'generate_content']);

/** Returns the value in an OTLP AnyValue. */
function anyValue(value: unknown): unknown {
	const fields = fieldsOf(value);
	if (!fields) return null;
	if (fields.stringValue !== undefined) return fields.stringValue;
	if (fields.intValue !== undefined) return Number(fields.intValue);
	if (fields.doubleValue !== undefined) return fields.doubleValue;
	if (fields.boolValue !== undefined) return fields.boolValue;
	if (fields.arrayValue !== undefined) return listOf(fieldsOf(fields.arrayValue)?.values).map(anyValue);
	return attributesOf(fieldsOf(fields.kvlistValue)?.values);
}

function attributesOf(list: unknown): Record<string, unknown> {
	const entries = listOf(list).map(fieldsOf);
	return Object.fromEntries(
		entries.flatMap((entry) => {
			const key = textOf(entry?.key);
			return key === null || key === '__proto__' ? [] : [[key, anyValue(entry?.value)] as const];
		}),
	);
}

/** Converts a message with parts: text, reasoning, tool calls and their responses. */
function messageOf(value: unknown): Message | null {
	const message = fieldsOf(value);
	const role = textOf(message?.role);
	if (!message || role === null) return null;
	const parts = listOf(message.parts).map(fieldsOf);
	if (!Array.isArray(message.parts)) return { role, content: contentText(message.content) };
	const ofType = (type: string) => parts.filter((part) => part?.type === type);
	const [response] = ofType('tool_call_response');
	const texts = [...ofType('text').map((part) => part?.content), response?.result ?? response?.response];
	const text = texts
		.filter((one) => one !== undefined)
		.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
	const thinking = ofType('reasoning').map((part) => textOf(part?.content) ?? '');
	const called = ofType('tool_call').map((part) => ({ id: part?.id, name: part?.name, arguments: part?.arguments }));
	return {
		role,
		content: text.length === 0 ? null : text.join('\n'),
		...(thinking.length === 0 ? {} : { reasoning_content: thinking.join('\n') }),
		...(called.length === 0 ? {} : { tool_calls: toolCalls(called) }),
		...given('tool_call_id', textOf(response?.id)),
	};
}

function listedMessages(value: unknown): Message[] {
	const list = typeof value === 'string' ? parsedJson(value) : value;
	return listOf(list).flatMap((entry) => messageOf(entry) ?? []);
}

/** Reads the events that older versions of the conventions used. */
function eventMessages(span: Fields): { input: Message[]; output: Message[] } {
	const input: Message[] = [];
	const output: Message[] = [];
	for (const event of listOf(span.events).map(fieldsOf)) {
		const name = textOf(event?.name) ?? '';
		const attributes = attributesOf(event?.attributes);
		const [, role] = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(name) ?? [];
		if (role !== undefined) input.push(...(messagesOf([{ role, ...attributes }]) ?? []));
		else if (name === 'gen_ai.choice') {
			const message = parsedJson(attributes.message) ?? attributes;
			output.push(...(messagesOf([{ role: 'assistant', ...fieldsOf(message) }]) ?? []));
		} else if (name === 'gen_ai.client.inference.operation.details') {
			input.push(...listedMessages(attributes['gen_ai.input.messages']));
			output.push(...listedMessages(attributes['gen_ai.output.messages']));
		}
	}
	return { input, output };
}

/** Returns a time in seconds since the epoch, from nanoseconds as text or as a number; null if it is not recorded. */
function secondsOf(time: unknown): number | null {
	return time === undefined || time === null ? null : numberOf(Number(time) / 1e9);
}

function rolloutOf(span: Fields): ForeignRollout | null {
	const attributes = attributesOf(span.attributes);
	const operation = textOf(attributes['gen_ai.operation.name']);
	if (operation === null || !calls.has(operation)) return null;
	const events = eventMessages(span);
	const system = listOf(parsedJson(attributes['gen_ai.system_instructions'])).map((part) =>
		textOf(fieldsOf(part)?.content),
	);
	const instructions = system.filter((text) => text !== null);
	const prompt = [
		...(instructions.length === 0 ? [] : [{ role: 'system', content: instructions.join('\n') }]),
		...listedMessages(attributes['gen_ai.input.messages']),
		...events.input,
	];
	const completion = [...listedMessages(attributes['gen_ai.output.messages']), ...events.output];
	const reasons = listOf(attributes['gen_ai.response.finish_reasons']);
	const start = secondsOf(span.startTimeUnixNano);
	const end = secondsOf(span.endTimeUnixNano);
	const model = attributes['gen_ai.response.model'] ?? attributes['gen_ai.request.model'];
	const tokens = numberOf(attributes['gen_ai.usage.output_tokens']);
	const recorded = prompt.length + completion.length > 0;
	const failed = integerOf(fieldsOf(span.status)?.code) === 2 || fieldsOf(span.status)?.code === 'STATUS_CODE_ERROR';
	const error = failed
		? (textOf(fieldsOf(span.status)?.message) ?? textOf(attributes['error.type']) ?? 'failed')
		: null;
	const call = { kind: 'generation', name: textOf(model) ?? operation, end, tokens, error } as const;
	return {
		groupKey: recorded ? JSON.stringify(prompt) : `${textOf(span.traceId)} ${textOf(span.spanId)}`,
		prompt,
		completion: completion.length === 0 ? '' : completion,
		reward: null,
		truncated: reasons.length === 0 ? null : reasons.some((reason) => reason === 'length' || reason === 'max_tokens'),
		...given(
			'extra',
			extraOf({
				// Messages are recorded only if the application opted in.
				text: recorded ? null : 'not recorded',
				length: tokens,
				model,
				agent: attributes['gen_ai.agent.name'],
				trace: span.traceId,
				seconds: start === null || end === null ? null : end - start,
				error,
				timeline: start === null ? null : timelineOf([{ ...call, start }]),
			}),
		),
	};
}

function rolloutsIn(record: unknown): readonly ForeignRollout[] | string {
	const batch = fieldsOf(record);
	if (!Array.isArray(batch?.resourceSpans)) return 'has no resourceSpans';
	const rollouts: ForeignRollout[] = [];
	for (const resource of batch.resourceSpans.map(fieldsOf)) {
		for (const scope of listOf(resource?.scopeSpans).map(fieldsOf)) {
			for (const span of listOf(scope?.spans).map(fieldsOf)) {
				const rollout = span === null ? null : rolloutOf(span);
				if (rollout !== null) rollouts.push(rollout);
			}
		}
	}
	return rollouts;
}

async function hasSpans(folder: FolderView): Promise<boolean> {
	for (const { pattern } of patterns) {
		for (const { path } of await folder.some(pattern, 3)) {
			if (topKeys((await folder.head(path)) ?? '').has('resourceSpans')) return true;
		}
	}
	return false;
}

export const openTelemetry: RunFormat = {
	name: 'opentelemetry',
	title: 'OpenTelemetry',
	looksFor: '.jsonl or .json files with resourceSpans (OTLP in JSON)',
	hasSteps: false,
	rollouts: patterns.map(
		({ pattern, form }): RolloutFiles => ({
			pattern,
			form,
			split: 'train',
			// The folder can contain other JSON files.
			rollouts: (record) => (form === 'json' && !fieldsOf(record)?.resourceSpans ? [] : rolloutsIn(record)),
		}),
	),
	metrics: [],
	notes: [
		'Each model call (gen_ai.operation.name chat, text_completion or generate_content) is a rollout; other spans are not shown.',
		'Calls with the same messages form a group. Rewards are not recorded.',
		'Messages are recorded only if the application opted in; otherwise only lengths and times are known.',
	],
	recognize: hasSpans,
};
