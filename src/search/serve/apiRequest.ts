import * as v from 'valibot';
import { decode } from '../../protocol/decode.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import { maxCompletionTokens } from '../../protocol/searchSpec.ts';
import { type SearchBudget, searchBudgetSchema } from '../../protocol/treeLog.ts';
import { ApiError } from './apiError.ts';

export const mostChoices = 16;
const mostStops = 16;

const nullish = <const T extends v.GenericSchema>(schema: T) => v.optional(v.nullable(schema), null);
const text = v.pipe(v.string(), v.minLength(1));
const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const tokens = v.pipe(count, v.maxValue(maxCompletionTokens));

/** What the answer says of the search besides its numbers: nothing more, the way to the result, or its whole log. */
export const returnedTrees = ['none', 'path', 'events'] as const;
export type ReturnedTree = (typeof returnedTrees)[number];

/** Strict: a budget that is misspelt would be no budget. */
const searchSchema = v.strictObject({
	strategy: v.optional(text),
	params: v.optional(v.record(v.string(), v.unknown())),
	budget: v.optional(v.strictObject(searchBudgetSchema.entries)),
	return: v.optional(v.picklist(returnedTrees), 'none'),
});

const common = {
	model: nullish(text),
	n: nullish(v.pipe(count, v.maxValue(mostChoices))),
	stop: nullish(v.union([v.string(), v.pipe(v.array(v.string()), v.maxLength(mostStops))])),
	max_tokens: nullish(tokens),
	temperature: nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(2))),
	top_p: nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
	seed: nullish(v.pipe(v.number(), v.integer())),
	stream: nullish(v.boolean()),
	stream_options: nullish(v.object({ include_usage: v.optional(v.boolean(), false) })),
	search: v.optional(searchSchema, {}),
};

const part = v.looseObject({ type: v.string(), text: v.optional(v.string()) });
const chatSchema = v.object({
	...common,
	messages: v.pipe(
		v.array(v.object({ role: text, content: nullish(v.union([v.string(), v.array(part)])) })),
		v.minLength(1),
	),
	max_completion_tokens: nullish(tokens),
	tools: nullish(v.array(v.unknown())),
	response_format: nullish(v.looseObject({ type: v.string() })),
	logprobs: nullish(v.boolean()),
});

const completionSchema = v.object({
	...common,
	prompt: v.union([v.string(), v.array(v.unknown())]),
	echo: nullish(v.boolean()),
	suffix: nullish(v.string()),
	best_of: nullish(count),
	logprobs: nullish(v.number()),
});

/** A request of either kind, as the server works on it. */
export interface ApiRequest {
	readonly kind: 'chat' | 'completion';
	readonly model: string | null;
	readonly prompt: string;
	/** What was said before. */
	readonly history: readonly ChatMessage[];
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

/** Reads the body of `/v1/chat/completions`. Throws an `ApiError` that names the field. */
export function readChatRequest(body: unknown): ApiRequest {
	const request = read(chatSchema, body);
	if ((request.tools ?? []).length > 0) throw unsupported('tools', 'Tools are not supported.');
	if (request.logprobs === true) throw unsupported('logprobs', 'Log-probabilities are not given.');
	if (request.response_format !== null && request.response_format.type !== 'text') {
		throw unsupported('response_format', 'Only text is given.');
	}
	const messages = request.messages.map(({ role, content }, i) => ({
		role,
		content: typeof content === 'string' ? content : textOfParts(content ?? [], i),
	}));
	const last = messages.at(-1) as ChatMessage & { content: string };
	if (last.role !== 'user') throw invalid('messages', 'The last message is to be of the role user.');
	if (last.content.trim() === '') throw invalid('messages', 'The last message is empty.');
	return {
		kind: 'chat',
		prompt: last.content,
		history: messages.slice(0, -1),
		...commonOf(request),
		maxTokens: request.max_completion_tokens ?? request.max_tokens,
	};
}

/** Reads the body of `/v1/completions`. Throws an `ApiError` that names the field. */
export function readCompletionRequest(body: unknown): ApiRequest {
	const request = read(completionSchema, body);
	if (request.echo === true) throw unsupported('echo', 'The prompt is not repeated.');
	if ((request.suffix ?? '') !== '') throw unsupported('suffix', 'Nothing is put in between.');
	if (request.logprobs !== null) throw unsupported('logprobs', 'Log-probabilities are not given.');
	if ((request.best_of ?? 1) > 1) throw unsupported('best_of', 'Ask for a strategy by search.strategy instead.');
	const prompt = Array.isArray(request.prompt) && request.prompt.length === 1 ? request.prompt[0] : request.prompt;
	if (typeof prompt !== 'string') throw unsupported('prompt', 'The prompt is to be one text.');
	if (prompt.trim() === '') throw invalid('prompt', 'The prompt is empty.');
	return { kind: 'completion', prompt, history: [], ...commonOf(request), maxTokens: request.max_tokens };
}

const invalid = (param: string, message: string) => new ApiError(400, 'invalid_value', message, param);
const unsupported = (param: string, message: string) => new ApiError(400, 'unsupported_parameter', message, param);

function read<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
	const decoded = decode(schema, body);
	if (decoded.ok) return decoded.value;
	const [fault] = decoded.faults;
	const param = fault?.path || null;
	throw new ApiError(400, 'invalid_value', `${param ?? 'The body'}: ${fault?.message ?? 'cannot be read'}.`, param);
}

function textOfParts(parts: readonly v.InferOutput<typeof part>[], message: number): string {
	return parts
		.map(({ type, text }) => {
			if (type === 'text' && text !== undefined) return text;
			throw unsupported(`messages[${message}].content`, `Parts of the type ${type} are not supported.`);
		})
		.join('');
}

type Common = v.InferOutput<v.ObjectSchema<typeof common, undefined>>;

function commonOf({ model, n, stop, temperature, top_p, seed, stream, stream_options, search }: Common) {
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
