import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { deferred } from '../../../../src/base/async.ts';
import { Failure } from '../../../../src/base/failure.ts';
import type { Reasoner, Solution, SolveOptions } from '../../../../src/search/serve/reasoner.ts';
import {
	type ReasonerServer,
	type ReasonerServerOptions,
	serveReasoner,
} from '../../../../src/search/serve/reasonerServer.ts';

const solution: Solution = {
	strategy: 'best-of-n',
	params: {},
	completion: '<think>1+1</think><answer>2</answer>',
	answer: '2',
	value: null,
	stop: 'complete',
	finish: 'end',
	tokens: 9,
	promptTokens: 4,
	nodes: 2,
	simulations: 0,
	seconds: 0,
	cost: null,
	message: null,
	fault: null,
	detail: null,
	path: [],
	seed: 1,
};

/** Reasoner whose searches end on the test's request, to test only the server around it. */
class GatedReasoner implements Reasoner {
	readonly name = 'gated';
	readonly model = 'gated';
	readonly capabilities = {
		logprobs: false,
		alternatives: 0,
		distribution: false,
		prefix: true,
		seed: true,
		instructions: true,
		score: false,
		heads: [],
	};
	readonly tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;
	readonly strategy = 'best-of-n';
	readonly strategies = [{ name: 'best-of-n', title: 'Best of n', description: 'The best.' }];
	readonly budget = {};
	readonly schemas = false;
	readonly tokenizer = null;
	readonly read = null;
	readonly tools = false;
	readonly started: SolveOptions[] = [];
	readonly gates: { open(): void }[] = [];
	gated = false;

	check(options: SolveOptions) {
		if (options.strategy === 'none') throw new Failure('invalid', 'Unknown strategy "none".', 'Choose another.');
		return { strategy: options.strategy ?? this.strategy, streams: false };
	}

	async solve(problem: { readonly prompt: string }, options: SolveOptions = {}): Promise<Solution> {
		if (problem.prompt === 'break') throw new TypeError('secret detail');
		this.started.push(options);
		if (!this.gated) return solution;
		const gate = deferred<Solution>();
		this.gates.push({ open: () => gate.resolve(solution) });
		options.signal?.addEventListener('abort', () => gate.resolve({ ...solution, stop: 'stopped' }));
		return gate.promise;
	}

	callTools(): Promise<never> {
		throw new TypeError('Available rewards: no tools.');
	}

	dispose(): void {}
}

const until = async (condition: () => boolean): Promise<void> => {
	for (let i = 0; i < 3000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.ok(condition());
};

let server: ReasonerServer | null = null;
afterEach(async () => {
	await server?.close(0);
	server = null;
});

async function start(more: Partial<ReasonerServerOptions> = {}) {
	const reasoner = new GatedReasoner();
	server = await serveReasoner({ reasoner, port: 0, token: 'right', ...more });
	const { url, port } = server;
	const call = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
		fetch(`${url}${path}`, {
			...init,
			headers: { authorization: 'Bearer right', 'content-type': 'application/json', ...init.headers },
		});
	const chat = (body: unknown, init: RequestInit = {}) =>
		call('/chat/completions', {
			method: 'POST',
			body: typeof body === 'string' ? body : JSON.stringify(body),
			...init,
		} as Parameters<typeof call>[1]);
	return { reasoner, server, url, port, call, chat };
}

const ask = { messages: [{ role: 'user', content: '1+1=' }] };

/** Sends a request with arbitrary headers, unlike `fetch`. */
function raw(port: number, headers: Record<string, string>, method = 'GET', path = '/v1/models') {
	return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((resolve, reject) => {
		const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, setHost: false }, (response) => {
			let body = '';
			response.setEncoding('utf8');
			response.on('data', (chunk: string) => {
				body += chunk;
			});
			response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
		});
		request.on('error', reject);
		request.end();
	});
}

const codeOf = async (response: Response | Promise<Response>) => {
	const { status, ...rest } = await response;
	void rest;
	const body = (await (await response).json()) as { error: { code: string; param: string | null; message: string } };
	return [status, body.error.code, body.error.param];
};

describe('access control', () => {
	test('a Host header that names another server is rejected, whatever the token', async () => {
		const { port } = await start();
		const authorization = 'Bearer right';
		for (const host of [`evil.example:${port}`, 'evil.example', `127.0.0.1:${port + 1}`, '127.0.0.1', '']) {
			assert.notEqual((await raw(port, { host, authorization })).status, 200, host);
		}
		for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
			assert.equal((await raw(port, { host, authorization })).status, 200, host);
		}
	});

	test('pages from other origins are rejected, and allowed origins get CORS headers, including preflight', async () => {
		const { port } = await start({ origins: ['http://page.example'] });
		const host = `127.0.0.1:${port}`;
		const authorization = 'Bearer right';
		for (const origin of ['http://evil.example', 'null', `http://evil.example:${port}`, 'http://page.example.evil']) {
			const { status, headers } = await raw(port, { host, authorization, origin });
			assert.equal(status, 403, origin);
			assert.equal(headers['access-control-allow-origin'], undefined);
		}
		const { status, headers } = await raw(port, { host, authorization, origin: 'http://page.example' });
		assert.equal(status, 200);
		assert.equal(headers['access-control-allow-origin'], 'http://page.example');
		const path = '/v1/chat/completions';
		const preflight = await raw(port, { host, origin: 'http://page.example' }, 'OPTIONS', path);
		assert.equal(preflight.status, 204);
		assert.match(String(preflight.headers['access-control-allow-headers']), /authorization/);
		assert.equal((await raw(port, { host, origin: 'http://evil.example' }, 'OPTIONS', path)).status, 403);
		assert.equal((await raw(port, { host, origin: 'http://page.example' })).status, 401);
	});

	test('without the token nothing is revealed; if no token is required, everything is', async () => {
		const { call, port } = await start();
		for (const authorization of [
			'',
			'Bearer wrong',
			'Bearer right ',
			'Basic right',
			'Bearer',
			'right',
			'Bearer rightx',
		]) {
			const { status, headers } = await raw(port, { host: `localhost:${port}`, authorization });
			assert.equal(status, authorization === 'Bearer right ' ? 200 : 401, authorization);
			if (status === 401) assert.equal(headers['www-authenticate'], 'Bearer');
		}
		assert.deepEqual(await codeOf(call('/models', { headers: { authorization: 'Bearer no' } })), [
			401,
			'invalid_token',
			null,
		]);
		await server?.close(0);
		const open = await start({ token: null });
		assert.equal((await fetch(`${open.url}/models`)).status, 200);
	});
});

describe('request validation', () => {
	test('unsupported requests are rejected with the name of the field', async () => {
		const { chat, call } = await start();
		const tool = { type: 'function', function: { name: 'f', parameters: {} } };
		const functionNamed = (name: string) => ({ type: 'function', function: { name } });
		const startedCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
		const message = (content: unknown) => ({ messages: [{ role: 'user', content }] });
		const refused: [unknown, number, string, string | null][] = [
			['', 400, 'invalid_json', null],
			['{"messages": [', 400, 'invalid_json', null],
			['[]', 400, 'invalid_value', 'messages'],
			[{}, 400, 'invalid_value', 'messages'],
			[{ messages: [] }, 400, 'invalid_value', 'messages'],
			[message('  '), 400, 'invalid_value', 'messages'],
			[{ messages: [{ role: 'assistant', content: 'a' }] }, 400, 'invalid_value', 'messages'],
			[message([{ type: 'image_url', image_url: { url: 'x' } }]), 400, 'unsupported_parameter', 'messages[0].content'],
			[{ ...ask, n: 0 }, 400, 'invalid_value', 'n'],
			[{ ...ask, n: 129 }, 400, 'invalid_value', 'n'],
			[{ ...ask, max_tokens: -1 }, 400, 'invalid_value', 'max_tokens'],
			[{ ...ask, temperature: 'hot' }, 400, 'invalid_value', 'temperature'],
			[{ ...ask, tools: [{}] }, 400, 'unsupported_parameter', 'tools[0]'],
			[{ ...ask, tools: [tool] }, 400, 'unsupported_parameter', 'tools'],
			[{ ...ask, tools: [{ type: 'function', function: {} }] }, 400, 'invalid_value', 'tools[0]'],
			[{ ...ask, tools: Array(129).fill(tool) }, 400, 'invalid_value', 'tools'],
			[{ ...ask, tool_choice: 'required' }, 400, 'invalid_value', 'tool_choice'],
			[{ ...ask, tools: [tool], tool_choice: { type: 'allowed_tools' } }, 400, 'unsupported_parameter', 'tool_choice'],
			[{ ...ask, tools: [tool], tool_choice: functionNamed('g') }, 400, 'invalid_value', 'tool_choice'],
			[{ ...ask, functions: [{ name: 'f' }] }, 400, 'unsupported_parameter', 'functions'],
			[
				{ messages: [...ask.messages, { role: 'tool', content: '4' }] },
				400,
				'invalid_value',
				'messages[1].tool_call_id',
			],
			[{ messages: [{ role: 'tool', tool_call_id: 'c', content: '4' }] }, 400, 'invalid_value', 'messages'],
			[
				{ messages: [...ask.messages, { role: 'assistant', tool_calls: [startedCall] }] },
				400,
				'invalid_value',
				'messages',
			],
			[{ ...ask, logprobs: true }, 400, 'unsupported_parameter', 'logprobs'],
			[{ ...ask, response_format: { type: 'json_object' } }, 400, 'unsupported_parameter', 'response_format'],
			[{ ...ask, search: { bugdet: {} } }, 400, 'invalid_value', 'search.bugdet'],
			[{ ...ask, search: { budget: { token: 5 } } }, 400, 'invalid_value', 'search.budget.token'],
			[{ ...ask, search: { return: 'everything' } }, 400, 'invalid_value', 'search.return'],
			[{ ...ask, search: { strategy: 'none' } }, 400, 'invalid', null],
			[{ ...ask, model: 'gpt-9' }, 404, 'model_not_found', 'model'],
		];
		for (const [body, ...expected] of refused)
			assert.deepEqual(await codeOf(chat(body)), expected, JSON.stringify(body));
		assert.deepEqual(await codeOf(call('/nothing')), [404, 'unknown_url', null]);
		assert.deepEqual(await codeOf(call('/models/none')), [404, 'model_not_found', 'model']);
		const completion = (body: object) => call('/completions', { method: 'POST', body: JSON.stringify(body) });
		const refusedCompletions: [object, string, string][] = [
			[{ prompt: [] }, 'invalid_value', 'prompt'],
			[{ prompt: ['a', ''] }, 'invalid_value', 'prompt'],
			[{ prompt: [1, 2] }, 'unsupported_parameter', 'prompt'],
			[{ prompt: [[1], [2.5]] }, 'invalid_value', 'prompt[1][0]'],
			[{ prompt: Array.from({ length: 100 }, () => 'a'), n: 100 }, 'invalid_value', 'n'],
			[{ prompt: 'a', max_tokens: 0 }, 'invalid_value', 'max_tokens'],
			[{ prompt: 'a', logprobs: 1 }, 'unsupported_parameter', 'logprobs'],
			[{ prompt: 'a', echo: true, max_tokens: 0 }, 'unsupported_parameter', 'echo'],
			[{ prompt: 'a', echo: true, stream: true }, 'unsupported_parameter', 'echo'],
			[{ prompt: 'a', suffix: 'b' }, 'unsupported_parameter', 'suffix'],
			[{ prompt: 'a', best_of: 3 }, 'unsupported_parameter', 'best_of'],
		];
		for (const [body, code, param] of refusedCompletions)
			assert.deepEqual(await codeOf(completion(body)), [400, code, param], JSON.stringify(body));
		const response = (body: object) => call('/responses', { method: 'POST', body: JSON.stringify(body) });
		const refusedResponses: [object, string, string][] = [
			[{}, 'invalid_value', 'input'],
			[{ input: [] }, 'invalid_value', 'input'],
			[{ input: 'a', tools: [{ type: 'web_search' }] }, 'unsupported_parameter', 'tools[0]'],
			[{ input: 'a', tools: [{ type: 'function', name: 'f' }] }, 'unsupported_parameter', 'tools'],
			[{ input: 'a', previous_response_id: 'resp_1' }, 'unsupported_parameter', 'previous_response_id'],
			[{ input: [{ type: 'function_call', name: 'f' }] }, 'invalid_value', 'input[0]'],
			[{ input: [{ type: 'web_search_call' }] }, 'unsupported_parameter', 'input[0]'],
			[{ input: 'a', text: { format: { type: 'json_object' } } }, 'unsupported_parameter', 'text.format'],
		];
		for (const [body, code, param] of refusedResponses)
			assert.deepEqual(await codeOf(response(body)), [400, code, param], JSON.stringify(body));
		const plain = { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } };
		assert.deepEqual(await codeOf(call('/chat/completions', plain)), [415, 'unsupported_media_type', null]);
	});

	test('an oversized body is not read', async () => {
		const { chat, reasoner } = await start({ limits: { bodyBytes: 1000 } });
		const body = { messages: [{ role: 'user', content: 'x'.repeat(2000) }] };
		assert.deepEqual(await codeOf(chat(body)), [413, 'body_too_large', null]);
		assert.equal(reasoner.started.length, 0);
	});

	test('a body without a declared length is also limited', async () => {
		const { url } = await start({ limits: { bodyBytes: 1000 } });
		const body = new ReadableStream({
			start(controller) {
				for (let i = 0; i < 20; i++) controller.enqueue(new TextEncoder().encode('x'.repeat(200)));
				controller.close();
			},
		});
		const response = await fetch(`${url}/chat/completions`, {
			method: 'POST',
			body,
			duplex: 'half',
			headers: { authorization: 'Bearer right', 'content-type': 'application/json' },
		} as RequestInit);
		assert.equal(response.status, 413);
	});

	test('internal errors are logged but not revealed to the client', async () => {
		const faults: unknown[] = [];
		const { chat } = await start({ onFault: (error) => faults.push(error) });
		const response = await chat({ messages: [{ role: 'user', content: 'break' }] });
		assert.equal(response.status, 500);
		assert.doesNotMatch(await response.text(), /secret/);
		assert.match(String(faults[0]), /secret detail/);
		const streamed = await chat({ messages: [{ role: 'user', content: 'break' }], stream: true });
		const text = await streamed.text();
		assert.match(text, /data: \{"error":/);
		assert.doesNotMatch(text, /secret|\[DONE\]/);
	});
});

describe('concurrency', () => {
	test('running and waiting requests are limited, others are rejected, and free slots are reused', async () => {
		const { chat, reasoner } = await start({ limits: { running: 2, waiting: 1 } });
		reasoner.gated = true;
		const first = [chat(ask), chat(ask)];
		await until(() => reasoner.gates.length === 2);
		const abort = new AbortController();
		const third = chat(ask, { signal: abort.signal });
		// The third request is waiting, so the next one is rejected.
		let refused: Response | null = null;
		for (let i = 0; i < 100 && refused?.status !== 429; i++) {
			const early = new AbortController();
			const one = chat(ask, { signal: early.signal });
			refused = await Promise.race([one, new Promise<null>((resolve) => setTimeout(resolve, 200, null))]);
			if (refused === null) {
				early.abort();
				await one.catch(() => undefined);
			}
		}
		assert.equal(refused?.status, 429);
		assert.equal(refused?.headers.get('retry-after'), '5');
		assert.equal(reasoner.gates.length, 2);
		reasoner.gates[0]?.open();
		await until(() => reasoner.gates.length === 3);
		for (const { open } of reasoner.gates) open();
		for (const one of [...first, third]) assert.equal((await one).status, 200);
	});

	test('a hundred concurrent requests all wait for their turn', async () => {
		const { chat, reasoner } = await start();
		reasoner.gated = true;
		const replies = Array.from({ length: 100 }, () => chat(ask));
		for (let opened = 0; opened < 100; opened++) {
			await until(() => reasoner.gates.length > opened);
			reasoner.gates[opened]?.open();
		}
		for (const reply of replies) assert.equal((await reply).status, 200);
	});

	for (const stream of [false, true]) {
		test(`a client that disconnects ends its search (stream: ${stream})`, async () => {
			const { chat, reasoner } = await start({ limits: { running: 1 } });
			reasoner.gated = true;
			const abort = new AbortController();
			const gone = chat({ ...ask, stream, n: 2 }, { signal: abort.signal });
			await until(() => reasoner.started.length === 2);
			assert.equal(reasoner.started[0]?.signal?.aborted, false);
			if (stream) await (await gone).body?.getReader().read();
			abort.abort();
			await gone.catch(() => undefined);
			await until(() => reasoner.started.every(({ signal }) => signal?.aborted));
			reasoner.gated = false;
			assert.equal((await chat(ask)).status, 200, 'the slot is free again');
		});
	}

	test('a client that disconnects mid-request is not a server error', async () => {
		const faults: unknown[] = [];
		const records: (string | null)[] = [];
		const { port } = await start({
			onFault: (error) => faults.push(error),
			onRequest: ({ message }) => records.push(message),
		});
		const socket = connect(port, '127.0.0.1');
		socket.on('error', () => undefined);
		const head = ['POST /v1/chat/completions HTTP/1.1', `Host: localhost:${port}`, 'Authorization: Bearer right'];
		socket.end(`${head.join('\r\n')}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"messages":`);
		await new Promise((resolve) => setImmediate(resolve));
		socket.destroySoon();
		await until(() => records.length === 1);
		assert.deepEqual([records, faults], [['The client disconnected.'], []]);
	});

	test('an idle connection does not prevent shutdown', async () => {
		const { server, port } = await start();
		const socket = connect(port, '127.0.0.1');
		socket.on('error', () => undefined);
		await new Promise((resolve) => socket.once('connect', resolve));
		socket.write('POST /v1/chat/completions HTTP/1.1\r\n');
		const closed = new Promise((resolve) => socket.once('close', resolve));
		await server.close(0);
		await closed;
	});
});

describe('shutdown', () => {
	test('on shutdown running searches continue, no new ones start, and after the grace period they answer with their best result', async () => {
		const { server, chat, reasoner, url } = await start({ limits: { running: 2 } });
		reasoner.gated = true;
		const finished = chat(ask);
		const cut = chat(ask);
		await until(() => reasoner.gates.length === 2);
		const closing = server.close(600_000);
		await until(() => reasoner.gates.length === 2);
		reasoner.gates[0]?.open();
		assert.equal((await finished).status, 200);
		await assert.rejects(fetch(`${url}/models`));
		const again = server.close(0);
		const reply = (await (await cut).json()) as { choices: { search: { stop: string } }[] };
		assert.equal(reply.choices[0]?.search.stop, 'stopped');
		await Promise.all([closing, again]);
	});

	test('a port in use is named in the error', async () => {
		const { port, reasoner } = await start();
		await assert.rejects(serveReasoner({ reasoner, port, token: null }), /Port \d+ is in use/);
	});
});
