import * as v from 'valibot';
import {
	type ApiRequest,
	common,
	commonOf,
	conversationOf,
	nullish,
	part,
	read,
	refuseTools,
	schemaOf,
	text,
	textOfParts,
	tokens,
	unsupported,
} from './apiRequest.ts';

const item = v.looseObject({
	type: v.optional(v.string(), 'message'),
	role: v.optional(text),
	content: nullish(v.union([v.string(), v.array(part)])),
});

const { n: _n, stop: _stop, max_tokens: _max, stream_options: _options, ...shared } = common;
const responsesSchema = v.object({
	...shared,
	input: v.union([v.string(), v.pipe(v.array(item), v.minLength(1))]),
	instructions: nullish(v.string()),
	max_output_tokens: nullish(tokens),
	text: nullish(v.looseObject({ format: nullish(v.looseObject({ type: v.string() })) })),
	tools: nullish(v.array(v.unknown())),
	previous_response_id: nullish(v.string()),
	conversation: nullish(v.unknown()),
	background: nullish(v.boolean()),
});

/** Reads the body of `/v1/responses`. Throws an `ApiError` that names the field. */
export function readResponsesRequest(body: unknown): ApiRequest {
	const request = read(responsesSchema, body);
	refuseTools(request.tools);
	for (const field of ['previous_response_id', 'conversation'] as const) {
		if (request[field] !== null)
			throw unsupported(field, 'Responses are not stored. Send the whole conversation as "input".');
	}
	if (request.background === true) throw unsupported('background', 'Responses are not stored. Leave out "background".');
	const given =
		typeof request.input === 'string' ? [{ type: 'message', role: 'user', content: request.input }] : request.input;
	const messages = given.flatMap(({ type, role, content }, i) => {
		// What the policy thought before is not shown to it again.
		if (type === 'reasoning') return [];
		if (type !== 'message' || role === undefined) {
			throw unsupported(`input[${i}]`, `Items of the type ${type} are not supported.`);
		}
		return [
			{ role, content: typeof content === 'string' ? content : textOfParts(content ?? [], `input[${i}].content`) },
		];
	});
	const { instructions } = request;
	const all = instructions === null ? messages : [{ role: 'system', content: instructions }, ...messages];
	return {
		kind: 'response',
		...conversationOf(all, 'input'),
		...commonOf({ ...request, n: 1, stop: null, max_tokens: null, stream_options: null }),
		maxTokens: request.max_output_tokens,
		alternatives: null,
		echo: false,
		schema: schemaOf(request.text?.format ?? null, 'text.format'),
	};
}
