import * as v from 'valibot';
import type { OfferedTools } from '../../policies/openedPolicy.ts';
import { decode } from '../../protocol/decode.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import { maxCompletionTokens } from '../../protocol/searchSpec.ts';
import { type SearchBudget, searchBudgetSchema } from '../../protocol/treeLog.ts';
import { ApiError } from './apiError.ts';
import { offeredTools, readChatTool, toolCallSchema, toolFields } from './toolUse.ts';

export const maxChoices = 128;
/** Maximum number of prompts per request, and of choices in total. */
const maxPrompts = 2048;
/** Maximum number of alternatives per token, as in OpenAI's chat API; OpenAI's completions API allows 5. */
export const maxAlternatives = 20;
const maxStops = 16;

export const nullish = <const T extends v.GenericSchema>(schema: T) => v.optional(v.nullable(schema), null);
export const text = v.pipe(v.string(), v.minLength(1));
const count = v.pipe(v.number(), v.integer(), v.minValue(1));
export const tokens = v.pipe(count, v.maxValue(maxCompletionTokens));

/** Search details to include in a response, besides the numbers: nothing, the path to the result, or the whole log. */
export const returnedTrees = ['none', 'path', 'events'] as const;
export type ReturnedTree = (typeof returnedTrees)[number];

/** Strict, because a misspelled budget would otherwise be ignored. */
const searchSchema = v.strictObject({
	strategy: v.optional(text),
	params: v.optional(v.record(v.string(), v.unknown())),
	budget: v.optional(v.strictObject(searchBudgetSchema.entries)),
	return: v.optional(v.picklist(returnedTrees), 'none'),
});

export const common = {
	model: nullish(text),
	n: nullish(v.pipe(count, v.maxValue(maxChoices))),
	stop: nullish(v.union([v.string(), v.pipe(v.array(v.string()), v.maxLength(maxStops))])),
	max_tokens: nullish(tokens),
	temperature: nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(2))),
	top_p: nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
	seed: nullish(v.pipe(v.number(), v.integer())),
	stream: nullish(v.boolean()),
	stream_options: nullish(v.object({ include_usage: v.optional(v.boolean(), false) })),
	search: v.optional(searchSchema, {}),
};

export const part = v.looseObject({ type: v.string(), text: v.optional(v.string()) });
const chatSchema = v.object({
	...common,
	messages: v.pipe(
		v.array(
			v.object({
				role: text,
				content: nullish(v.union([v.string(), v.array(part)])),
				tool_calls: nullish(v.array(toolCallSchema)),
				tool_call_id: nullish(text),
			}),
		),
		v.minLength(1),
	),
	max_completion_tokens: nullish(tokens),
	...toolFields,
	response_format: nullish(v.looseObject({ type: v.string() })),
	logprobs: nullish(v.boolean()),
	top_logprobs: nullish(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxAlternatives))),
});

const tokenIds = v.pipe(v.array(v.pipe(v.number(), v.integer(), v.minValue(0))), v.minLength(1));
const completionSchema = v.object({
	...common,
	/** 0 generates nothing and requires `echo`. */
	max_tokens: nullish(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxCompletionTokens))),
	prompt: v.union(
		[v.string(), tokenIds, v.pipe(v.array(v.union([v.string(), tokenIds])), v.minLength(1), v.maxLength(maxPrompts))],
		'must be a string, a list of token ids, or a list of either',
	),
	echo: nullish(v.boolean()),
	suffix: nullish(v.string()),
	best_of: nullish(count),
	logprobs: nullish(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxAlternatives))),
});

/** A request to either API in the server's internal form. */
export interface ApiRequest {
	readonly kind: 'chat' | 'completion' | 'response';
	readonly model: string | null;
	/** At least one prompt; exactly one string for a chat or a response. */
	readonly prompts: readonly (string | readonly number[])[];
	/** Prefix of the answer; '' if none was given. */
	readonly prefill: string;
	/** Number of alternatives requested per token; null if log-probabilities were not requested. */
	readonly alternatives: number | null;
	/** Whether the completion text includes its prompt. */
	readonly echo: boolean;
	/** JSON Schema for the answer; null for free text. */
	readonly schema: Readonly<Record<string, unknown>> | null;
	/** Messages before the problem. */
	readonly history: readonly ChatMessage[];
	/** Tool calls after the problem, and their results. */
	readonly exchange: readonly ChatMessage[];
	/** Tools to offer to the policy first; null if there are none or calls are not allowed. */
	readonly tools: OfferedTools | null;
	readonly n: number;
	readonly stop: readonly string[];
	readonly maxTokens: number | null;
	readonly temperature: number | null;
	readonly topP: number | null;
	readonly seed: number | null;
	readonly stream: boolean;
	readonly usageInStream: boolean;
	readonly search: {
		readonly strategy: string | null;
		readonly params: Readonly<Record<string, unknown>> | null;
		readonly budget: SearchBudget;
		readonly return: ReturnedTree;
	};
}

/** Parses the body of `/v1/chat/completions`. Throws an `ApiError` that names the field. */
export function readChatRequest(body: unknown): ApiRequest {
	const request = read(chatSchema, body);
	const messages = request.messages.map(({ role, content, tool_calls, tool_call_id }, i): GivenMessage => {
		if (role === 'tool' && tool_call_id === null) {
			throw invalid(`messages[${i}].tool_call_id`, 'A message with role tool requires a tool_call_id.');
		}
		return {
			role,
			content: typeof content === 'string' ? content : textOfParts(content ?? [], `messages[${i}].content`),
			...(role === 'assistant' && tool_calls !== null && tool_calls.length > 0 ? { tool_calls } : {}),
			...(role === 'tool' && tool_call_id !== null ? { tool_call_id } : {}),
		};
	});
	return {
		kind: 'chat',
		...conversationOf(messages, 'messages'),
		...commonOf(request),
		maxTokens: request.max_completion_tokens ?? request.max_tokens,
		alternatives: request.logprobs === true ? (request.top_logprobs ?? 0) : null,
		echo: false,
		tools: offeredTools(request, readChatTool),
		schema: schemaOf(request.response_format, 'response_format'),
	};
}

/** Parses the body of `/v1/completions`. Throws an `ApiError` that names the field. */
export function readCompletionRequest(body: unknown): ApiRequest {
	const request = read(completionSchema, body);
	if ((request.suffix ?? '') !== '')
		throw unsupported('suffix', 'Fill-in-the-middle generation (suffix) is not supported.');
	if ((request.best_of ?? 1) > (request.n ?? 1)) {
		throw unsupported('best_of', 'Choose a strategy with search.strategy instead.');
	}
	const echo = request.echo ?? false;
	if (request.max_tokens === 0 && !echo) throw invalid('max_tokens', 'max_tokens can be 0 only with echo.');
	const { prompt } = request;
	const many = Array.isArray(prompt) && typeof prompt[0] !== 'number';
	const prompts = (many ? prompt : [prompt]) as (string | number[])[];
	if (prompts.some((one) => typeof one === 'string' && one.trim() === ''))
		throw invalid('prompt', 'A prompt is empty.');
	if (prompts.length * (request.n ?? 1) > maxPrompts) {
		throw invalid('n', `${prompts.length} prompts with n ${request.n} exceed the limit of ${maxPrompts} choices.`);
	}
	return {
		kind: 'completion',
		prompts,
		history: [],
		exchange: [],
		tools: null,
		prefill: '',
		...commonOf(request),
		maxTokens: request.max_tokens,
		alternatives: request.logprobs,
		echo,
		schema: null,
	};
}

const schemaFormat = v.looseObject({ schema: v.record(v.string(), v.unknown()) });

/**
 * Returns the JSON Schema in a response format, or null for text.
 * @param format in chat format, with the schema inside `json_schema`
 */
export function schemaOf(
	format: { readonly type: string; readonly json_schema?: unknown } | null,
	param: string,
): Readonly<Record<string, unknown>> | null {
	if (format === null || format.type === 'text') return null;
	if (format.type === 'json_object') return { type: 'object' };
	if (format.type !== 'json_schema') throw unsupported(param, `The response format ${format.type} is not supported.`);
	const given = decode(schemaFormat, format.json_schema ?? format);
	if (!given.ok) throw invalid(param, `${param}.json_schema.schema is not an object.`);
	return given.value.schema;
}

export type GivenMessage = ChatMessage & { readonly content: string };

/**
 * Splits a conversation into the problem (the last user message), the messages before it, the tool calls after it, and
 * the answer prefix if the last message is from the assistant.
 */
export function conversationOf(messages: readonly GivenMessage[], param: string) {
	const last = messages.at(-1);
	const begins = last?.role === 'assistant' && last.tool_calls === undefined;
	const asked = begins ? messages.slice(0, -1) : messages;
	const at = asked.findLastIndex(({ role }) => role === 'user');
	const problem = asked[at];
	const exchange = asked.slice(at + 1);
	const after = exchange.at(-1)?.role ?? 'tool';
	const strange = exchange.some(({ role }) => role !== 'assistant' && role !== 'tool');
	if (problem === undefined || after !== 'tool' || strange) {
		throw invalid(param, 'The last message must have the role user or tool, or assistant after one of them.');
	}
	if (problem.content.trim() === '') throw invalid(param, 'The last user message is empty.');
	return { prompts: [problem.content], history: asked.slice(0, at), exchange, prefill: begins ? last.content : '' };
}

export const invalid = (param: string, message: string) => new ApiError(400, 'invalid_value', message, param);
export const unsupported = (param: string, message: string) =>
	new ApiError(400, 'unsupported_parameter', message, param);

export function read<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
	const decoded = decode(schema, body);
	if (decoded.ok) return decoded.value;
	const [fault] = decoded.faults;
	const param = fault?.path || null;
	throw new ApiError(400, 'invalid_value', `${param ?? 'The body'}: ${fault?.message ?? 'cannot be read'}.`, param);
}

export function textOfParts(parts: readonly v.InferOutput<typeof part>[], param: string): string {
	return parts
		.map(({ type, text }) => {
			if (textParts.has(type) && text !== undefined) return text;
			throw unsupported(param, `Content parts of type ${type} are not supported.`);
		})
		.join('');
}

const textParts: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text']);

type Common = v.InferOutput<v.ObjectSchema<typeof common, undefined>>;

export function commonOf({ model, n, stop, temperature, top_p, seed, stream, stream_options, search }: Common) {
	return {
		model,
		n: n ?? 1,
		stop: (typeof stop === 'string' ? [stop] : (stop ?? [])).filter((one) => one !== ''),
		temperature,
		topP: top_p,
		seed,
		stream: stream ?? false,
		usageInStream: stream_options?.include_usage ?? false,
		search: {
			strategy: search.strategy ?? null,
			params: search.params ?? null,
			budget: search.budget ?? {},
			return: search.return,
		},
	};
}
