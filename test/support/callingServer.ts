import type { ServerResponse } from 'node:http';
import { type Body, ModelServer, type ModelServerOptions } from '../unit/policies/modelServer.ts';

/** Returns the tool calls made by a model that is offered tools, or null to respond as if no tools were offered. */
export type Calls = (body: Body) => readonly { id?: string; name: string; arguments: string }[] | null;

/**
 * Starts a server whose model calls tools as real servers do: in one response, or as a stream that splits arguments
 * anywhere.
 */
export function callingServer(calls: Calls, options: ModelServerOptions & { readonly wholeOnly?: boolean } = {}) {
	const answer = (body: Body, response: ServerResponse): boolean => {
		if (body.tools === undefined) return false;
		const made = calls(body);
		if (made === null) return false;
		const whole = made.map(({ id, name, arguments: given }) => ({
			id,
			type: 'function',
			function: { name, arguments: given },
		}));
		const usage = { prompt_tokens: 11, completion_tokens: 7 };
		const text = { role: 'assistant', reasoning_content: 'I need a tool.', content: null };
		if (body.stream !== true) {
			const message = { ...text, tool_calls: whole };
			response.writeHead(200, { 'content-type': 'application/json' });
			response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }));
			return true;
		}
		if (options.wholeOnly === true) {
			response.writeHead(500, { 'content-type': 'application/json' });
			response.end('{"error": {"message": "Automatic streaming tool choice is not supported"}}');
			return true;
		}
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		const say = (delta: object, finish_reason: string | null = null) =>
			response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
		say(text);
		for (const [index, { id, type, function: call }] of whole.entries()) {
			say({ tool_calls: [{ index, id, type, function: { name: call.name, arguments: '' } }] });
			for (const part of call.arguments.match(/.{1,3}/gs) ?? [])
				say({ tool_calls: [{ index, function: { arguments: part } }] });
		}
		say({}, 'tool_calls');
		response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
		response.end('data: [DONE]\n\n');
		return true;
	};
	return ModelServer.start({ stream: 'usage', ...options, intercept: answer });
}

/** Calls tools until it has results. */
export const addsOnce: Calls = ({ messages = [] }) =>
	messages.at(-1)?.role === 'tool'
		? null
		: [
				{ id: 'call_a', name: 'add', arguments: '{"a": 2, "b": 3}' },
				{ id: 'call_b', name: 'add', arguments: '{"a": 4, "b": 5}' },
			];
