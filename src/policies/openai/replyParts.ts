import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { type Decoded, decode } from '../../protocol/decode.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const nullableText = v.nullish(v.string());

const chatTokenSchema = v.looseObject({
	token: v.string(),
	logprob: v.nullish(v.number()),
	top_logprobs: v.nullish(v.array(v.looseObject({ token: v.string(), logprob: v.number() }))),
});

/** Chat APIs use `content`. Completions APIs use lists, except in llama.cpp, which uses `content` for both. */
const logprobsSchema = v.looseObject({
	content: v.nullish(v.array(chatTokenSchema)),
	tokens: v.nullish(v.array(v.string())),
	token_logprobs: v.nullish(v.array(v.nullable(v.number()))),
	top_logprobs: v.nullish(v.array(v.nullable(v.record(v.string(), v.number())))),
	text_offset: v.nullish(v.array(v.number())),
});

/**
 * A complete tool call, or a stream part with a fragment of the arguments. Ollama and others send the arguments as an
 * object.
 */
const toolCallSchema = v.looseObject({
	index: v.nullish(count),
	id: nullableText,
	function: v.nullish(
		v.looseObject({
			name: nullableText,
			arguments: v.nullish(v.union([v.string(), v.record(v.string(), v.unknown())])),
		}),
	),
});
export type ReplyToolCall = v.InferOutput<typeof toolCallSchema>;

const messageSchema = v.looseObject({
	content: nullableText,
	/**
	 * Reasoning text. vLLM, SGLang, DeepSeek, and llama.cpp use this name; Ollama, OpenRouter, and newer vLLM versions
	 * use `reasoning`.
	 */
	reasoning_content: nullableText,
	reasoning: nullableText,
	refusal: nullableText,
	/** Not validated here, because only requests with tools read it. */
	tool_calls: v.optional(v.unknown()),
});

const choiceSchema = v.looseObject({
	index: v.optional(count, 0),
	/** Completions API only. */
	text: nullableText,
	/** Chat API only: complete message, and stream delta. */
	message: v.nullish(messageSchema),
	delta: v.nullish(messageSchema),
	logprobs: v.nullish(logprobsSchema),
	finish_reason: nullableText,
	/** The stop string under the names used by vLLM and SGLang. A number is a token ID. */
	stop_reason: v.nullish(v.union([v.string(), v.number()])),
	matched_stop: v.nullish(v.union([v.string(), v.number()])),
});
export type Choice = v.InferOutput<typeof choiceSchema>;

const usageSchema = v.looseObject({ prompt_tokens: v.nullish(count), completion_tokens: v.nullish(count) });
export type Usage = v.InferOutput<typeof usageSchema>;

/** A complete response, or one stream event. */
const replySchema = v.looseObject({ choices: v.array(choiceSchema), usage: v.nullish(usageSchema) });
export type Reply = v.InferOutput<typeof replySchema>;

export function decodeReply(value: unknown): Decoded<Reply> {
	return decode(replySchema, value);
}

/** Returns the tool calls in a choice. Fails with `invalid` if they are malformed. */
export function toolCallsOf({ message, delta }: Choice): readonly ReplyToolCall[] {
	const given = (message ?? delta)?.tool_calls ?? [];
	const decoded = decode(v.array(toolCallSchema), given);
	if (decoded.ok) return decoded.value;
	throw new Failure('invalid', `The server returned an invalid tool call: ${decoded.faults[0]?.message ?? ''}.`);
}

/** Returns whether a response with a success status is actually an error. */
export function isErrorReply(value: unknown): boolean {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
	const { error, object } = value as { error?: unknown; object?: unknown };
	return object === 'error' || (error !== undefined && error !== null && !('choices' in value));
}

/** A token with its alternatives. Log-probabilities are in nats, or null if not reported. */
export interface ReplyToken {
	readonly text: string;
	readonly logprob: number | null;
	readonly top: readonly (readonly [text: string, logprob: number])[];
}

/**
 * Rejects invalid log-probabilities: values above 0, non-numbers, and sentinels such as -9999 that servers use for
 * impossible tokens.
 */
const plausible = (logprob: number | null | undefined): number | null =>
	typeof logprob === 'number' && Number.isFinite(logprob) && logprob < 1e-3 ? Math.min(0, logprob) : null;

export function tokensOf({ logprobs }: Choice): ReplyToken[] {
	if (logprobs === null || logprobs === undefined) return [];
	const pairs = (list: readonly (readonly [string, number])[]) =>
		list
			.flatMap(([text, logprob]) => {
				const value = plausible(logprob);
				return value === null ? [] : [[text, value] as const];
			})
			.sort((a, b) => b[1] - a[1]);
	if (Array.isArray(logprobs.content)) {
		return logprobs.content.map(({ token, logprob, top_logprobs: top }) => ({
			text: token,
			logprob: plausible(logprob),
			top: pairs((top ?? []).map((one) => [one.token, one.logprob])),
		}));
	}
	return (logprobs.tokens ?? []).map((text, i) => ({
		text,
		logprob: plausible(logprobs.token_logprobs?.[i]),
		top: pairs(Object.entries(logprobs.top_logprobs?.[i] ?? {})),
	}));
}
