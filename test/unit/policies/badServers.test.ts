import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import type { Generated, GenerateRequest } from '../../../src/core/search/policy.ts';
import { openOpenAiPolicy } from '../../../src/policies/openai/openOpenAiPolicy.ts';
import type { OpenAiSpec } from '../../../src/policies/openai/requestBody.ts';
import type { OpenPolicy } from '../../../src/policies/openedPolicy.ts';
import { event, json, ModelServer, type ModelServerOptions } from './modelServer.ts';

const never = new AbortController().signal;

const able: ModelServerOptions = {
	logprobs: 20,
	many: true,
	seed: true,
	stream: 'usage',
	stops: 'told',
	prefix: 'continue',
};

const request: GenerateRequest = {
	messages: [{ role: 'user', content: 'Count from 1 to 30' }],
	prefix: '',
	n: 1,
	temperature: 0,
	topP: 1,
	maxTokens: 10,
	stop: [],
	seed: 3,
	tokens: 0,
};

/** Creates a policy whose server passes the capability checks and misbehaves afterwards. */
async function tried(
	intercept: NonNullable<ModelServerOptions['intercept']>,
	{ options = able, ...more }: Partial<OpenAiSpec> & { options?: ModelServerOptions } = {},
) {
	const server = await ModelServer.start(options);
	const spec: OpenAiSpec = { kind: 'openai', name: 'tiny', baseUrl: server.url, model: 'tiny', api: 'chat', ...more };
	const policy = await openOpenAiPolicy(
		{ retries: 1, timeoutSeconds: 20, ...spec },
		{ keys: { [`tiny ${new URL(server.url).origin}`]: 'the-key' } },
	);
	server.requests.length = 0;
	server.options = { ...options, intercept };
	return { server, policy, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function ask(policy: OpenPolicy, more: Partial<GenerateRequest> = {}): Promise<Generated> {
	const [made] = await policy.bind({ signal: never }).generate([{ ...request, ...more }]);
	assert.ok(made !== undefined);
	return made;
}

function failed(made: Generated, reason: Failure['reason'], message: RegExp): void {
	assert.ok(made instanceof Failure, JSON.stringify(made));
	assert.equal(made.reason, reason, made.message);
	assert.match(made.message, message);
	assert.ok(made.action !== undefined && made.action !== '', made.message);
}

function wrote(made: Generated, text: string, finish: string): void {
	assert.ok(!(made instanceof Failure), String(made));
	assert.deepEqual([made[0]?.text, made[0]?.finish], [text, finish]);
}

const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const say = (response: ServerResponse, content: unknown, more: object = {}) =>
	event(response, { choices: [{ index: 0, delta: { content }, ...more }] });
const written = (response: ServerResponse) =>
	new Promise<void>((resolve) =>
		response.writableNeedDrain ? response.once('drain', resolve) : setImmediate(resolve),
	);

test('transient errors are retried, and a Retry-After header applies to all requests', async () => {
	let count = 0;
	await using busy = await tried((_, response) => {
		if (++count > 1) return false;
		response.setHeader('retry-after', '0.05');
		json(response, 429, { error: { message: 'slow down' } });
		return true;
	});
	wrote(await ask(busy.policy), '1 2 3 4 5 6 7 8 9 10', 'length');
	assert.equal(busy.policy.totals.retries, 1);

	await using broken = await tried((_, response) => {
		json(response, 500, { error: 'out of order' });
		return true;
	});
	failed(await ask(broken.policy), 'unavailable', /returned 500: out of order/);
	assert.equal(broken.server.requests.length, 2);

	let resets = 0;
	await using reset = await tried((_, response) => {
		if (++resets > 1) return false;
		response.socket?.resetAndDestroy();
		return true;
	});
	wrote(await ask(reset.policy), '1 2 3 4 5 6 7 8 9 10', 'length');
});

test('after a dropped connection, a completion is continued if possible, and otherwise its text is kept', async () => {
	const loseOnce = () => {
		let count = 0;
		return async (_: unknown, response: ServerResponse) => {
			if (++count > 1) return false;
			stream(response);
			say(response, '1 2');
			say(response, ' 3');
			await written(response);
			setTimeout(() => response.socket?.destroy(), 20);
			return true;
		};
	};
	await using able1 = await tried(loseOnce());
	const heard: string[] = [];
	const [made] = await able1.policy.bind({ signal: never, onText: ({ text }) => heard.push(text) }).generate([request]);
	assert.ok(made !== undefined && !(made instanceof Failure), String(made));
	assert.match(made[0]?.text ?? '', /^1 2 3 4 5 6/);
	assert.equal(heard.join(''), made[0]?.text);
	const again = able1.server.requests.at(-1)?.body;
	assert.deepEqual(again?.messages?.at(-1), { role: 'assistant', content: '1 2 3' });
	assert.equal(able1.policy.totals.retries, 1);

	await using unable = await tried(loseOnce(), { options: { ...able, prefix: null } });
	wrote(await ask(unable.policy), '1 2 3', 'length');
	assert.equal(unable.server.requests.length, 1);
});

test('garbage in a stream is ignored, but a stream with nothing else is a failure', async () => {
	await using some = await tried((_, response) => {
		stream(response);
		response.write(': hello\n\nevent: x\nid: 7\nretry: soon\n\ndata: {"choices": [{\n\n');
		say(response, '1');
		response.write('data: nonsense\n\ndata: {"choices": 5}\n\ndata: null\n\ndata: []\n\n\u0000\n');
		event(response, { choices: [{ index: 0, delta: { content: { nested: true } } }] });
		event(response, { choices: [{ index: 99, delta: { content: 'elsewhere' } }] });
		event(response, { choices: [{ index: -1, delta: { content: 'nowhere' } }] });
		event(response, { choices: [{ index: 0, delta: { content: ' 2' }, logprobs: { content: [{ token: 1 }] } }] });
		say(response, ' 3', { logprobs: { content: [{ token: ' 3', logprob: 7 }] } });
		response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
		return true;
	});
	wrote(await ask(some.policy), '1 3', 'end');

	await using none = await tried((_, response) => {
		stream(response).end('data: nonsense\n\ndata: {}\n\n');
		return true;
	});
	failed(await ask(none.policy), 'unavailable', /sent 2 invalid parts/);

	await using empty = await tried((_, response) => {
		stream(response).end();
		return true;
	});
	failed(await ask(empty.policy), 'unavailable', /ended the stream without sending any text/);
	assert.equal(empty.server.requests.length, 2);
});

test('an endless stream is closed after a length limit or an idle timeout', async () => {
	await using words = await tried(async (_, response) => {
		stream(response);
		while (!response.destroyed) {
			say(response, ' and so on and so forth'.repeat(20));
			await written(response);
		}
		return true;
	});
	const made = await ask(words.policy);
	assert.ok(!(made instanceof Failure), String(made));
	assert.equal(made[0]?.finish, 'length');
	assert.ok((made[0]?.text.length ?? 0) < 10_000);

	for (const part of [': ping\n\n', 'data: {"choices":[{"index":0,"delta":{}}]}\n\n', 'data: x\n\n']) {
		await using silent = await tried(
			async (_, response) => {
				stream(response);
				while (!response.destroyed) {
					response.write(part);
					await new Promise((resolve) => setTimeout(resolve, 10));
				}
				return true;
			},
			{ timeoutSeconds: 0.5, retries: 0 },
		);
		failed(await ask(silent.policy), 'unavailable', /did not respond within 0.5 s/);
	}
});

test('size limits apply to an event, a whole response and an error', async () => {
	await using oneEvent = await tried(async (_, response) => {
		stream(response);
		response.write('data: ');
		while (!response.destroyed) {
			response.write('x'.repeat(1 << 16));
			await written(response);
		}
		return true;
	});
	failed(await ask(oneEvent.policy), 'invalid', /exceeds \d+ bytes/);

	await using whole = await tried(async (_, response) => {
		response.writeHead(200, { 'content-type': 'application/json' });
		while (!response.destroyed) {
			response.write(' '.repeat(1 << 20));
			await written(response);
		}
		return true;
	});
	failed(await ask(whole.policy), 'invalid', /exceeds \d+ bytes/);

	await using error = await tried(async (_, response) => {
		response.writeHead(400, { 'content-type': 'text/plain' });
		while (!response.destroyed) {
			response.write('no'.repeat(1 << 15));
			await written(response);
		}
		return true;
	});
	failed(await ask(error.policy), 'invalid', /exceeds \d+ bytes/);
});

test('responses of wrong types, HTML pages and errors disguised as responses are failures that quote the content', async () => {
	for (const [value, message] of [
		['{"choices": "none"}', /did not return completions: choices/],
		['{"choices": []}', /the response has no choices/],
		['{"choices": [{"message": {"content": 5}}]}', /choices\[0\].message.content/],
		['{"object": "error", "message": "no such model"}', /reported an error: no such model/],
		['{"error": {"message": "out of memory"}}', /reported an error: out of memory/],
		['<html>hello</html>', /is not JSON/],
		['', /is not JSON/],
		['[]', /did not return completions/],
		['null', /did not return completions/],
	] as const) {
		await using bad = await tried((_, response) => {
			response.writeHead(200, { 'content-type': 'application/json' }).end(value);
			return true;
		});
		const made = await ask(bad.policy);
		assert.ok(made instanceof Failure, value);
		assert.match(made.message, message, value);
	}
});

test('an error within a stream keeps the text before it, or is retried if there is none', async () => {
	let count = 0;
	await using server = await tried(
		(_, response) => {
			stream(response);
			if (count++ > 0) say(response, '1 2');
			event(response, { error: { message: 'worker\u0000 died' } });
			response.end();
			return true;
		},
		{ options: { ...able, prefix: null } },
	);
	wrote(await ask(server.policy), '1 2', 'length');
	assert.equal(server.server.requests.length, 2);
});

test('redirects are not followed, and the key is not sent elsewhere', async () => {
	const seen: (string | undefined)[] = [];
	const other = createServer((asked, response) => {
		seen.push(asked.headers.authorization);
		response.end('{}');
	});
	await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
	try {
		const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}/v1/chat/completions`;
		await using server = await tried((_, response) => {
			response.writeHead(307, { location: elsewhere }).end();
			return true;
		});
		failed(await ask(server.policy), 'invalid', /redirects to another address \(307\)/);
		assert.deepEqual(seen, []);
	} finally {
		other.close();
	}
});

test('refusals, empty completions and truncated steps are reported as such', async () => {
	const answers: [object, string, string][] = [
		[{ message: { content: null, refusal: 'I cannot help.' }, finish_reason: 'stop' }, 'I cannot help.', 'refusal'],
		[{ message: { content: '' }, finish_reason: 'content_filter' }, '', 'refusal'],
		[{ message: { content: '' }, finish_reason: 'stop' }, '', 'end'],
		[{ message: { content: null }, finish_reason: 'length' }, '', 'length'],
		[{ message: { content: 'Step 1: add' }, finish_reason: 'length' }, 'Step 1: add', 'length'],
	];
	for (const [choice, text, finish] of answers) {
		await using server = await tried((_, response) => {
			json(response, 200, { choices: [{ index: 0, ...choice }] });
			return true;
		});
		wrote(await ask(server.policy), text, finish);
	}
});

test('an invalid key fails all requests, other failures affect one request, and a canceled request settles immediately', async () => {
	await using denied = await tried((_, response) => {
		json(response, 401, { error: { message: 'wrong key' } });
		return true;
	});
	await assert.rejects(
		ask(denied.policy),
		(error: Failure) => error.reason === 'denied' && !/the-key/.test(error.message),
	);

	await using one = await tried((body, response) => {
		if (body.seed !== 4) return false;
		json(response, 400, { error: { message: 'not this one' } });
		return true;
	});
	const [bad, good] = await one.policy.bind({ signal: never }).generate([{ ...request, seed: 4 }, request]);
	failed(bad as Generated, 'invalid', /not this one/);
	wrote(good as Generated, '1 2 3 4 5 6 7 8 9 10', 'length');

	let closed = 0;
	let arrived: () => void = () => undefined;
	const waits = new Promise<void>((resolve) => {
		arrived = resolve;
	});
	await using slow = await tried(
		(_, response) => {
			response.on('close', () => closed++);
			arrived();
			return true;
		},
		{ parallel: 1 },
	);
	const cancel = new AbortController();
	const asked = slow.policy.bind({ signal: cancel.signal }).generate([request, request, request]);
	await waits;
	cancel.abort();
	await assert.rejects(asked, (error: Failure) => error.reason === 'cancelled');
	while (closed === 0) await new Promise((resolve) => setTimeout(resolve, 5));
	assert.equal(slow.server.requests.length, 1);
});

test('servers that went away or never existed are unavailable', async () => {
	const made = await tried(() => false, { retries: 0 });
	await made.server[Symbol.asyncDispose]();
	failed(await ask(made.policy), 'unavailable', /No server is responding at/);
	const spec: OpenAiSpec = { kind: 'openai', name: 'x', baseUrl: made.server.url, model: 'none', api: 'chat' };
	await assert.rejects(openOpenAiPolicy(spec, {}), /nothing is listening there/);
});
