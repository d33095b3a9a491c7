import { type ApiRequest, invalid, unsupported } from './apiRequest.ts';
import type { Reasoner } from './reasoner.ts';
import type { SystemMessages } from './reasonerAppOptions.ts';

/** Returns the request with its system messages handled as configured for this server. */
export function withSystem(request: ApiRequest, how: SystemMessages): ApiRequest {
	if (how === 'keep' || request.kind === 'completion') return request;
	const isSystem = ({ role }: { readonly role: string }) => role === 'system' || role === 'developer';
	const history = request.history.filter((message) => !isSystem(message));
	const said = request.history.filter((message) => isSystem(message) && (message.content ?? '').trim() !== '');
	if (how === 'drop' || said.length === 0) return { ...request, history };
	return { ...request, history, prompts: [[...said.map(({ content }) => content), request.prompts[0]].join('\n\n')] };
}

/** Returns the request after checking that the policy supports everything the request needs. */
export function ableRequest(
	request: ApiRequest,
	{ capabilities, schemas, read, name, tools: canCall }: Reasoner,
): ApiRequest {
	const { alternatives, schema, prefill, echo, n, stream, kind, tools } = request;
	const lacks = (param: string, what: string) => unsupported(param, `The policy ${name} does not ${what}.`);
	if (alternatives !== null && !capabilities.logprobs) throw lacks('logprobs', 'report log-probabilities');
	if (schema !== null && !schemas) {
		throw lacks(kind === 'chat' ? 'response_format' : 'text.format', 'follow JSON Schemas; only text is supported');
	}
	if (prefill !== '' && !capabilities.prefix) {
		throw lacks(kind === 'chat' ? 'messages' : 'input', 'continue a prefix: the last message must have the role user');
	}
	if (tools !== null && !canCall) throw lacks('tools', 'support tool calls. Omit "tools"');
	if (tools !== null && prefill !== '') {
		throw unsupported(
			kind === 'chat' ? 'messages' : 'input',
			'With tools, the last message must have the role user or tool.',
		);
	}
	if (!echo) return request;
	if (stream) throw unsupported('echo', 'echo cannot be streamed. Omit "stream".');
	if (alternatives === null && request.maxTokens !== 0) return request;
	if (read === null)
		throw lacks('echo', 'report log-probabilities for existing text, which echo with logprobs requires');
	if (n > 1) throw unsupported('n', 'With echo and logprobs, n must be 1.');
	return request;
}

/** Converts a prompt to text; special tokens before the text are returned separately. */
export function promptOf(
	prompt: string | readonly number[],
	{ tokenizer, name }: Reasoner,
): { readonly text: string; readonly special: readonly string[] } {
	if (typeof prompt === 'string') return { text: prompt, special: [] };
	if (tokenizer === null) {
		throw unsupported('prompt', `The vocabulary of the policy ${name} is not available. Send prompts as text.`);
	}
	const first = prompt.findIndex((id) => !tokenizer.special.includes(id));
	const ids = first < 0 ? [] : prompt.slice(first);
	if (ids.some((id) => tokenizer.special.includes(id))) {
		throw invalid('prompt', 'Special tokens are only allowed at the start of a prompt.');
	}
	return { text: tokenizer.decode(ids), special: prompt.slice(0, prompt.length - ids.length).map(() => '') };
}
