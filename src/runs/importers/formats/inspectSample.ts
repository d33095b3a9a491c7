import type { Message, RolloutLine } from '../../../protocol/rolloutLine.ts';
import { contentText, toolCalls } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	scoreOf,
	sumOf,
	textOf,
} from '../foreignValues.ts';
import { timelineOf } from '../timeline.ts';
import { inspectActivities, inspectStart } from './inspectEvents.ts';

/* Samples in Inspect logs (inspect_ai/log/_log.py, `EvalSample`). */

/** Inspect's `value_to_float`: correct, partially correct, incorrect, no answer. */
const letters: Readonly<Record<string, number>> = { C: 1, P: 0.5, I: 0, N: 0 };
const words: Readonly<Record<string, number>> = { yes: 1, true: 1, no: 0, false: 0 };

function scoreValue(value: unknown): number | null {
	const text = textOf(value);
	if (text === null) return scoreOf(value);
	const known = letters[text] ?? words[text.toLowerCase()];
	if (known !== undefined) return known;
	return /^\s*[-+]?[\d.]+(e[-+]?\d+)?\s*$/i.test(text) ? scoreOf(Number(text)) : null;
}

/** Returns one value per scorer, or per key of a scorer that returns several. */
function scoresIn(sample: Fields): [string, number | null][] {
	const scores: [string, number | null][] = [];
	for (const [scorer, score] of Object.entries(fieldsOf(sample.scores) ?? {})) {
		const value = fieldsOf(score)?.value;
		const several = fieldsOf(value);
		if (several === null) scores.push([scorer, Array.isArray(value) ? null : scoreValue(value)]);
		else for (const [key, one] of Object.entries(several)) scores.push([`${scorer}/${key}`, scoreValue(one)]);
	}
	return scores.filter(([name]) => name !== '__proto__');
}

/** Maximum number of characters to substitute for attachment references in a sample. */
const maxAttached = 32 << 20;

/** Long strings are stored once per sample and referred to by their hash. */
function attached(sample: Fields): (text: string) => string {
	const attachments = fieldsOf(sample.attachments) ?? {};
	let left = maxAttached;
	return (text) =>
		text.replace(/attachment:\/\/([0-9a-f]{32})/g, (whole, hash: string) => {
			const found = textOf(attachments[hash]);
			if (found === null || found.length > left) return whole;
			left -= found.length;
			return found;
		});
}

function messageOf(value: unknown, resolved: (text: string) => string): Message | null {
	const message = fieldsOf(value);
	const role = textOf(message?.role);
	if (!message || role === null) return null;
	const parts = Array.isArray(message.content) ? message.content.map(fieldsOf) : null;
	const thinking = (parts ?? []).flatMap((part) =>
		part?.type === 'reasoning' ? [textOf(part.reasoning) || textOf(part.summary) || '[redacted]'] : [],
	);
	const content = parts === null ? message.content : parts.filter((part) => part?.type !== 'reasoning');
	const text = contentText(content);
	// Inspect stores the name of a call's function at the top level.
	const calls = listOf(message.tool_calls).map((entry) => {
		const call = fieldsOf(entry);
		return call === null ? entry : { id: call.id, name: call.function, arguments: call.arguments };
	});
	const failed = textOf(fieldsOf(message.error)?.message);
	return {
		role,
		content: text === null ? null : resolved(text),
		...(thinking.length === 0 ? {} : { reasoning_content: resolved(thinking.join('\n')) }),
		...(calls.length === 0 ? {} : { tool_calls: toolCalls(calls) }),
		...given('tool_call_id', textOf(message.tool_call_id)),
		...given('name', textOf(message.function)),
		...given('error', failed),
	};
}

function messagesOf(sample: Fields, resolved: (text: string) => string): Message[] | null {
	const messages: Message[] = [];
	for (const entry of listOf(sample.messages)) {
		const message = messageOf(entry, resolved);
		if (message === null) return null;
		messages.push(message);
	}
	if (messages.length > 0) return messages;
	// A sample that failed early has only its input.
	const input = textOf(sample.input);
	if (input !== null) return [{ role: 'user', content: resolved(input) }];
	const given = listOf(sample.input).map((entry) => messageOf(entry, resolved));
	return given.includes(null) ? null : (given as Message[]);
}

function lastChoice(sample: Fields): Fields | null {
	return fieldsOf(listOf(fieldsOf(sample.output)?.choices)[0]);
}

/** Limits that end a sample early because of its length. */
const lengthLimits = new Set(['token', 'context', 'message', 'turn']);

function truncatedOf(sample: Fields): boolean | null {
	const limit = textOf(fieldsOf(sample.limit)?.type);
	if (limit !== null && lengthLimits.has(limit)) return true;
	const reason = textOf(lastChoice(sample)?.stop_reason);
	if (reason === null || reason === 'unknown') return null;
	return reason === 'max_tokens' || reason === 'model_length';
}

/** Returns the tokens of the only answer, if the model's log-probabilities were requested. */
function tokensOf(sample: Fields, completion: readonly Message[]): RolloutLine['tokens'] | undefined {
	const answers = completion.filter(({ role }) => role === 'assistant');
	const entries = listOf(fieldsOf(lastChoice(sample)?.logprobs)?.content).map(fieldsOf);
	if (answers.length !== 1 || completion.length !== 1 || entries.length === 0) return undefined;
	return {
		text: entries.map((entry) => textOf(entry?.token) ?? ''),
		logprob: entries.map((entry) => numberOf(entry?.logprob)),
	};
}

function errorsOf(sample: Fields): string[] {
	const error = fieldsOf(sample.error);
	return error === null ? [] : [textOf(error.message) ?? 'unknown error'];
}

/**
 * Reads a sample: one rollout. Its epochs, which repeat it, form a group.
 * @param log path of the log, because logs for different tasks reuse sample ids
 * @param severalLogs whether rollouts must name their log
 */
export function inspectSample(record: unknown, log: string, severalLogs: boolean): readonly ForeignRollout[] | string {
	const sample = fieldsOf(record);
	if (!sample) return 'is not an object';
	const id = integerOf(sample.id) ?? textOf(sample.id);
	if (id === null) return 'has no id';
	const messages = messagesOf(sample, attached(sample));
	if (messages === null) return 'has a message without a role';
	const first = messages.findIndex(({ role }, i) => role === 'assistant' && !isInput(sample, i));
	const prompt = first < 0 ? messages : messages.slice(0, first);
	const completion = first < 0 ? [] : messages.slice(first);
	const scores = scoresIn(sample);
	const tokens = tokensOf(sample, completion);
	const [primary] = Object.values(fieldsOf(sample.scores) ?? {}).map(fieldsOf);
	return [
		{
			groupKey: `${log} ${id}`,
			prompt,
			completion: completion.length === 0 ? '' : completion,
			rewards: Object.fromEntries(scores),
			reward: scores[0]?.[1] ?? null,
			truncated: truncatedOf(sample),
			row: id,
			...given('answer', boundedValue(sample.target ?? null)),
			...given('tokens', tokens),
			...given(
				'extra',
				extraOf({
					length: tokens ? null : outputTokens(sample),
					log: severalLogs ? log : null,
					model: fieldsOf(sample.output)?.model,
					epoch: integerOf(sample.epoch),
					extracted: primary?.answer,
					explanation: primary?.explanation === primary?.answer ? null : primary?.explanation,
					stop: textOf(fieldsOf(sample.limit)?.type) ?? lastChoice(sample)?.stop_reason,
					seconds: numberOf(sample.total_time),
					metadata: sample.metadata,
					errors: errorsOf(sample),
					timeline: timelineOf(inspectActivities(sample.events), inspectStart(sample)),
				}),
			),
		},
	];
}

/**
 * Reads an entry of summaries.json, which describes a sample without its messages. Returns null if it does not contain the
 * number of tokens, because the length of the answer is then unknown.
 * @param log path of the log
 */
export function inspectSummary(entry: unknown, log: string): { member: string; rollout: ForeignRollout } | null {
	const sample = fieldsOf(entry);
	const id = integerOf(sample?.id) ?? textOf(sample?.id);
	const epoch = integerOf(sample?.epoch);
	const length = sample === null ? null : outputTokens(sample);
	if (sample === null || id === null || epoch === null || length === null) return null;
	const scores = scoresIn(sample);
	const limit = textOf(sample.limit);
	return {
		member: `samples/${id}_epoch_${epoch}.json`,
		rollout: {
			groupKey: `${log} ${id}`,
			prompt: textOf(sample.input) ?? messagesOf(sample, (text) => text) ?? '',
			completion: '',
			rewards: Object.fromEntries(scores),
			reward: scores[0]?.[1] ?? null,
			truncated: limit !== null && lengthLimits.has(limit) ? true : null,
			row: id,
			...given('answer', boundedValue(sample.target ?? null)),
			extra: { length },
		},
	};
}

/** Returns the number of tokens that the models generated, or null if it is not recorded. */
function outputTokens(sample: Fields): number | null {
	return sumOf(
		Object.values(fieldsOf(sample.model_usage) ?? {}).map((used) => numberOf(fieldsOf(used)?.output_tokens)),
	);
}

/** Returns whether an assistant message was part of the sample's input, such as a few-shot example. */
function isInput(sample: Fields, index: number): boolean {
	return fieldsOf(listOf(sample.messages)[index])?.source === 'input';
}
