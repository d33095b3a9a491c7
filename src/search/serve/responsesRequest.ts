import * as v from 'valibot';
import {
	type ApiRequest,
	common,
	commonOf,
	conversationOf,
	type GivenMessage,
	invalid,
	nullish,
	part,
	read,
	schemaOf,
	text,
	textOfParts,
	tokens,
	unsupported,
} from './apiRequest.ts';
import { offeredTools, readResponsesTool, toolFields } from './toolUse.ts';

const item = v.looseObject({
	type: v.optional(v.string(), 'message'),
	role: v.optional(text),
	content: nullish(v.union([v.string(), v.array(part)])),
	/** Present for function calls and their results. */
	call_id: v.optional(text),
	name: v.optional(text),
	arguments: v.optional(v.string()),
	output: nullish(v.union([v.string(), v.array(part)])),
});
type Item = v.InferOutput<typeof item>;

const { n: _n, stop: _stop, max_tokens: _max, stream_options: _options, ...shared } = common;
const responsesSchema = v.object({
	...shared,
	input: v.union([v.string(), v.pipe(v.array(item), v.minLength(1))]),
	instructions: nullish(v.string()),
	max_output_tokens: nullish(tokens),
	text: nullish(v.looseObject({ format: nullish(v.looseObject({ type: v.string() })) })),
	...toolFields,
	previous_response_id: nullish(v.string()),
	conversation: nullish(v.unknown()),
	background: nullish(v.boolean()),
});

/** Parses the body of `/v1/responses`. Throws an `ApiError` that names the field. */
export function readResponsesRequest(body: unknown): ApiRequest {
	const request = read(responsesSchema, body);
	for (const field of ['previous_response_id', 'conversation'] as const) {
		if (request[field] !== null)
			throw unsupported(field, 'Responses are not stored. Send the full conversation as "input".');
	}
	if (request.background === true) throw unsupported('background', 'Responses are not stored. Omit "background".');
	const given =
		typeof request.input === 'string' ? [{ type: 'message', role: 'user', content: request.input }] : request.input;
	const messages = given.flatMap((one, i) => messageOf(one as Item, `input[${i}]`)).reduce(withCalls, []);
	const { instructions } = request;
	const all = instructions === null ? messages : [{ role: 'system', content: instructions }, ...messages];
	return {
		kind: 'response',
		...conversationOf(all, 'input'),
		...commonOf({ ...request, n: 1, stop: null, max_tokens: null, stream_options: null }),
		maxTokens: request.max_output_tokens,
		alternatives: null,
		echo: false,
		tools: offeredTools(request, readResponsesTool),
		schema: schemaOf(request.text?.format ?? null, 'text.format'),
	};
}

/** Converts an input item to chat messages. */
function messageOf(
	{ type, role, content, call_id, name, arguments: given, output }: Item,
	param: string,
): GivenMessage[] {
	const textOf = (parts: Item['content'], of: string) =>
		typeof parts === 'string' ? parts : textOfParts(parts ?? [], `${param}.${of}`);
	switch (type) {
		// Earlier reasoning is not sent to the policy again.
		case 'reasoning':
			return [];
		case 'function_call':
			if (call_id === undefined || name === undefined || given === undefined) {
				throw invalid(param, 'A function_call requires call_id, name and arguments.');
			}
			return [
				{
					role: 'assistant',
					content: '',
					tool_calls: [{ id: call_id, type: 'function', function: { name, arguments: given } }],
				},
			];
		case 'function_call_output':
			if (call_id === undefined) throw invalid(param, 'A function_call_output requires a call_id.');
			return [{ role: 'tool', content: textOf(output, 'output'), tool_call_id: call_id }];
		case 'message':
			if (role !== undefined) return [{ role, content: textOf(content, 'content') }];
	}
	throw unsupported(param, `Items of type ${type} are not supported.`);
}

/** Adds a message; consecutive calls in the same turn are merged into one message, with the text before them. */
function withCalls(messages: readonly GivenMessage[], next: GivenMessage): readonly GivenMessage[] {
	const last = messages.at(-1);
	if (next.tool_calls === undefined || last?.role !== 'assistant') return [...messages, next];
	return [...messages.slice(0, -1), { ...last, tool_calls: [...(last.tool_calls ?? []), ...next.tool_calls] }];
}
