import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import type { Generated, GenerateRequest, Generation } from '../../../../src/core/search/policy.ts';
import { ContextOverflow } from '../../../../src/policies/contextOverflow.ts';
import { listModels, openOpenAiPolicy } from '../../../../src/policies/openai/openOpenAiPolicy.ts';
import type { OpenAiSpec } from '../../../../src/policies/openai/requestBody.ts';
import type { GeneratedText, OpenPolicy } from '../../../../src/policies/openedPolicy.ts';
import { ModelServer, type ModelServerOptions } from '../modelServer.ts';

const never = new AbortController().signal;

function specOf(server: ModelServer, more: Partial<OpenAiSpec> = {}): OpenAiSpec {
	return { kind: 'openai', name: 'tiny', baseUrl: server.url, model: 'tiny', api: 'chat', retries: 1, ...more };
}

function ask(more: Partial<GenerateRequest> = {}): GenerateRequest {
	return {
		messages: [{ role: 'user', content: 'Count from 1 to 30' }],
		prefix: '',
		n: 1,
		temperature: 1,
		topP: 1,
		maxTokens: 8,
		stop: [],
		seed: 3,
		tokens: 0,
		...more,
	};
}

async function generate(policy: OpenPolicy, request: GenerateRequest): Promise<readonly Generation[]> {
	const [made] = await policy.bind({ signal: never }).generate([request]);
	return fine(made);
}

function fine(made: Generated | undefined): readonly Generation[] {
	assert.ok(made !== undefined && !(made instanceof Failure), String(made));
	return made;
}

const vllm: ModelServerOptions = {
	logprobs: 20,
	many: true,
	seed: true,
	stream: 'usage',
	stops: 'told',
	prefix: 'continue',
	schema: true,
};
const hosted: ModelServerOptions = {
	logprobs: 5,
	many: true,
	seed: false,
	stream: 'usage',
	stops: 'untold',
	prefix: null,
	schema: true,
};
const ollama: ModelServerOptions = {
	logprobs: null,
	many: false,
	seed: true,
	stream: 'plain',
	stops: 'untold',
	prefix: 'assistant',
	schema: true,
};
const bare: ModelServerOptions = {
	logprobs: 'refused',
	many: 'refused',
	seed: 'refused',
	stream: 'no',
	stops: 'refused',
	prefix: null,
};

test('server capabilities are detected by trying them', async () => {
	for (const [options, expected] of [
		[vllm, { logprobs: true, alternatives: 2, prefix: true, seed: true }],
		[hosted, { logprobs: true, alternatives: 2, prefix: false, seed: false }],
		[ollama, { logprobs: false, alternatives: 0, prefix: true, seed: true }],
		[bare, { logprobs: false, alternatives: 0, prefix: false, seed: false }],
		[
			{ ...ollama, prefix: 'flag' },
			{ logprobs: false, alternatives: 0, prefix: true, seed: true },
		],
		[
			{ ...ollama, prefix: 'echo' },
			{ logprobs: false, alternatives: 0, prefix: true, seed: true },
		],
	] as const) {
		await using server = await ModelServer.start(options);
		const policy = await openOpenAiPolicy(specOf(server), {});
		const { logprobs, alternatives, prefix, seed, instructions } = policy.capabilities;
		assert.deepEqual({ logprobs, alternatives, prefix, seed }, expected, JSON.stringify(options));
		assert.equal(instructions, true);
		assert.match(policy.sample, /^1 2 3 4/);
		const made = await generate(policy, ask({ n: 3, temperature: 0, stop: ['4'] }));
		assert.deepEqual(
			made.map(({ text, finish, stopText }) => [text, finish, stopText]),
			Array.from({ length: 3 }, () => ['1 2 3 ', 'stop', '4']),
			JSON.stringify(options),
		);
		if (prefix) {
			const [more] = await generate(policy, ask({ prefix: '1 2 3', temperature: 0, maxTokens: 3 }));
			assert.deepEqual([more?.text, more?.finish], [' 4 5 6', 'length'], JSON.stringify(options));
		}
	}
});

test('the completions API supports prefixes, templates, and scores if prompts are echoed', async () => {
	await using server = await ModelServer.start({ ...vllm, echo: true });
	const policy = await openOpenAiPolicy(specOf(server, { api: 'completions', template: 'Q: {prompt} A:' }), {});
	assert.deepEqual(
		[policy.capabilities.prefix, policy.capabilities.instructions, policy.capabilities.score],
		[true, false, true],
	);
	const [made] = await generate(policy, ask({ prefix: '1 2', temperature: 0, maxTokens: 2, tokens: 3 }));
	assert.equal(made?.text, ' 3 4');
	assert.equal(server.requests.at(-1)?.body.prompt, 'Q: Count from 1 to 30 A:1 2');
	assert.deepEqual(made?.detail?.top?.[0], [
		[' 3', Math.log(0.75)],
		[' 3?', Math.log(0.25)],
	]);
	const [scored] =
		(await policy.bind({ signal: never }).score?.([{ messages: ask().messages, completion: ' 12 345' }])) ?? [];
	assert.deepEqual(scored, [-3, -4]);
	assert.ok(policy.read !== undefined);
	const shared = { temperature: 0, topP: 1, stop: [], seed: 1 };
	const read = await policy.read({ text: 'one two', alternatives: 0, maxTokens: 0, ...shared }, never);
	assert.deepEqual(read, { tokens: { text: ['one', ' two'], logprob: [null, -4] }, more: null });
	assert.deepEqual(
		[server.requests.at(-1)?.body.prompt, server.requests.at(-1)?.body.max_tokens],
		['one two', 1],
		'the text is sent as it is; 1 token is requested because not all servers accept 0',
	);
	const { more } = await policy.read({ text: 'one two', alternatives: 2, maxTokens: 1, ...shared }, never);
	assert.deepEqual([more?.text, more?.finish, more?.tokens, more?.logprob], [' more', 'length', 1, -1]);
	const chat = await openOpenAiPolicy(specOf(server, {}), {});
	assert.equal(chat.read, undefined);
});

test('tokens, probabilities, statistics and costs are reported', async () => {
	await using server = await ModelServer.start(vllm);
	const price = { input: 1, output: 10, currency: 'EUR' };
	const policy = await openOpenAiPolicy(specOf(server, { price }), {});
	const [first, second] = await generate(policy, ask({ n: 2, maxTokens: 4, tokens: 2 }));
	assert.ok(first !== undefined && second !== undefined);
	assert.ok(Math.abs((first.logprob ?? 0) - 4 * Math.log(0.75)) < 1e-9);
	assert.deepEqual(first.detail?.text, ['1', ' 2', ' 3', ' 4']);
	assert.equal(first.detail?.partial, true);
	const entropy = -(0.75 * Math.log(0.75) + 0.25 * Math.log(0.25));
	assert.ok(Math.abs((first.detail?.entropy?.[0] ?? 0) - entropy) < 1e-9);
	assert.deepEqual([first.tokens, second.tokens, second.promptTokens], [4, 4, 0]);
	const prompt = first.promptTokens ?? 0;
	assert.ok(prompt > 0);
	assert.ok(Math.abs((first.cost ?? 0) - (prompt * 1 + 4 * 10) / 1e6) < 1e-12);
	const { cost, currency, requests } = policy.totals;
	assert.deepEqual([requests, currency], [1, 'EUR']);
	assert.ok(Math.abs((cost ?? 0) - (prompt + 80) / 1e6) < 1e-12);
});

test('text is streamed without any part of a stop text', async () => {
	await using server = await ModelServer.start({ ...vllm, stops: 'untold' });
	const policy = await openOpenAiPolicy(specOf(server), {});
	const heard: GeneratedText[] = [];
	const request = ask({ maxTokens: 20, stop: [' 12 13'], temperature: 0 });
	const [made] = await policy.bind({ signal: never, onText: (text) => heard.push(text) }).generate([request]);
	assert.equal(fine(made)[0]?.text, '1 2 3 4 5 6 7 8 9 10 11');
	assert.ok(heard.length > 3);
	assert.equal(heard.map(({ text }) => text).join(''), '1 2 3 4 5 6 7 8 9 10 11');
	assert.ok(heard.every((one) => one.request === request && one.index === 0));
	// The stop text was not sent to the server; the client disconnected when it appeared.
	assert.equal(server.requests.at(-1)?.body.stop, undefined);
});

test('separately returned thinking is put back in its tags, in streams and in whole responses', async () => {
	for (const stream of ['usage', 'no'] as const) {
		for (const reasoningField of ['reasoning_content', 'reasoning'] as const) {
			await using server = await ModelServer.start({ ...vllm, stream, thinking: ['so', ' it', ' is'], reasoningField });
			const policy = await openOpenAiPolicy(specOf(server), {});
			const [made] = await generate(policy, ask({ maxTokens: 5, temperature: 0 }));
			assert.equal(made?.text, '<think>so it is</think>1 2');
			const [cut] = await generate(policy, ask({ maxTokens: 2, temperature: 0 }));
			assert.deepEqual([cut?.text, cut?.finish], ['<think>so it', 'length']);
			const bound = policy.bind({ signal: never, think: ['[', ']'] });
			const [other] = await bound.generate([ask({ maxTokens: 4, temperature: 0 })]);
			assert.equal(fine(other)[0]?.text, '[so it is]1');
		}
	}
});

test('seeds determine the text, regardless of concurrent requests', async () => {
	await using server = await ModelServer.start({ ...vllm, many: false });
	const policy = await openOpenAiPolicy(specOf(server), {});
	const messages = [{ role: 'user', content: 'Say something.' }];
	const [alone] = await generate(policy, ask({ messages, seed: 7 }));
	const among = await policy
		.bind({ signal: never })
		.generate([ask({ messages, seed: 8, n: 3 }), ask({ messages, seed: 7 })]);
	assert.equal(fine(among[1])[0]?.text, alone?.text);
	assert.equal(new Set(fine(among[0]).map(({ text }) => text)).size, 3);
});

test('fields that a server rejects are omitted or renamed', async () => {
	await using server = await ModelServer.start({
		...hosted,
		lengthField: 'max_completion_tokens',
		refusesTemperature: true,
	});
	const policy = await openOpenAiPolicy(specOf(server), {});
	const [made] = await generate(policy, ask({ maxTokens: 3 }));
	assert.equal(made?.text, '1 2 3');
	const { body } = server.requests.at(-1) as { body: Record<string, unknown> };
	assert.deepEqual([body.max_completion_tokens, body.temperature, body.max_tokens], [3, undefined, undefined]);
});

test('a schema, a system message and extra fields are passed on, and message roles are kept', async () => {
	await using server = await ModelServer.start(vllm);
	const policy = await openOpenAiPolicy(
		specOf(server, { system: 'Be brief.', extra: { top_k: 5, model: 'not this' } }),
		{},
	);
	const [made] = await generate(policy, ask({ schema: { type: 'object' }, maxTokens: 20 }));
	assert.equal(made?.text, '{"ready": true}');
	const body = server.requests.at(-1)?.body as Record<string, unknown>;
	assert.deepEqual([body.top_k, body.model], [5, 'tiny']);
	assert.deepEqual(body.messages, [
		{ role: 'system', content: 'Be brief.' },
		{ role: 'user', content: 'Count from 1 to 30' },
	]);
	await generate(
		policy,
		ask({
			messages: [
				{ role: 'system', content: 'Own.' },
				{ role: 'user', content: 'x' },
			],
		}),
	);
	assert.equal((server.requests.at(-1)?.body.messages ?? []).filter(({ role }) => role === 'system').length, 1);
});

test('requests never exceed the context, and a prompt that fills it fails alone with its own error', async () => {
	await using server = await ModelServer.start({ ...vllm, context: 200 });
	const policy = await openOpenAiPolicy(specOf(server), {});
	const [made] = await generate(policy, ask({ maxTokens: 4096 }));
	assert.match(made?.text ?? '', /29 30$/);
	const long = [{ role: 'user', content: 'x'.repeat(300) }];
	const both = await policy.bind({ signal: never }).generate([ask({ messages: long }), ask()]);
	assert.ok(both[0] instanceof ContextOverflow, String(both[0]));
	assert.equal(both[0].context, 200);
	assert.equal(fine(both[1]).length, 1);
	const [full] = await generate(policy, ask({ prefix: 'x'.repeat(300) }));
	assert.deepEqual([full?.text, full?.finish], ['', 'length']);
});

test('a server is tested once, concurrency is limited, and its models can be listed', async () => {
	await using server = await ModelServer.start(vllm);
	await openOpenAiPolicy(specOf(server, { parallel: 2 }), {});
	assert.ok(server.max <= 2, String(server.max));
	const { length } = server.requests;
	const policy = await openOpenAiPolicy(specOf(server, { name: 'other name' }), {});
	assert.equal(server.requests.length, length);
	assert.deepEqual(await listModels(specOf(server), {}), ['tiny', 'other']);
	policy.dispose();
	await assert.rejects(
		policy.bind({ signal: never }).generate([ask()]),
		(error: Failure) => error.reason === 'cancelled',
	);
});

test('a key is sent only to its server, and is found by policy name or variable', async () => {
	await using server = await ModelServer.start(vllm);
	await openOpenAiPolicy(specOf(server), {
		keys: {
			[`tiny ${new URL(server.url).origin}`]: 'secret-1',
			'tiny http://127.0.0.1:1': 'secret-2',
			tiny: 'secret-2',
		},
	});
	assert.ok(server.requests.every(({ key }) => key === 'Bearer secret-1'));
	await openOpenAiPolicy(specOf(server, { keyVariable: 'MY_KEY', system: 'x' }), {
		environment: { MY_KEY: 'secret-3' },
		keyVariables: ['MY_KEY'],
	});
	assert.equal(server.requests.at(-1)?.key, 'Bearer secret-3');
	await assert.rejects(
		openOpenAiPolicy(specOf(server, { keyVariable: 'MY_KEY' }), { keyVariables: ['MY_KEY'] }),
		/MY_KEY does not contain an API key/,
	);
	const sent = server.requests.length;
	for (const keyVariables of [[], ['OTHER']]) {
		await assert.rejects(
			openOpenAiPolicy(specOf(server, { keyVariable: 'MY_KEY' }), {
				environment: { MY_KEY: 'secret-3' },
				keyVariables,
			}),
			{ reason: 'denied', message: /tries to send the environment variable MY_KEY/ },
		);
	}
	assert.equal(server.requests.length, sent);
	const byOrigin = JSON.stringify({ [new URL(server.url).origin]: 'secret-4', 'http://127.0.0.1:1': 'secret-5' });
	await openOpenAiPolicy(specOf(server, { system: 'y' }), { environment: { REASONING_LAB_API_KEYS: byOrigin } });
	assert.equal(server.requests.at(-1)?.key, 'Bearer secret-4');
	await assert.rejects(
		openOpenAiPolicy(specOf(server), { keys: { [`tiny ${new URL(server.url).origin}`]: 'a\nb' } }),
		(error: Failure) => {
			assert.doesNotMatch(error.toString(), /a\nb/);
			return error.reason === 'invalid';
		},
	);
	for (const baseUrl of [
		'127.0.0.1:8000',
		'file:///etc',
		'http://me:secret@127.0.0.1/v1',
		'http://127.0.0.1/v1?key=1',
	]) {
		await assert.rejects(openOpenAiPolicy(specOf(server, { baseUrl }), {}), (error: Failure) => {
			assert.doesNotMatch(error.message, /me:secret/);
			return error.reason === 'invalid';
		});
	}
});

test('the completions API can always continue a prefix, even for a model that cannot count', async () => {
	await using server = await ModelServer.start({
		...vllm,
		// Always writes the same text, so the second half of its text never follows from the first.
		intercept: (_, response) => {
			response.writeHead(200, { 'content-type': 'application/json' });
			const choices = [{ index: 0, text: 'blue green red yellow', finish_reason: 'length' }];
			response.end(JSON.stringify({ choices }));
			return true;
		},
	});
	const policy = await openOpenAiPolicy(specOf(server, { api: 'completions' }), {});
	assert.equal(policy.capabilities.prefix, true);
});

test("the policy's own fields override detected capabilities, which are then not tested", async () => {
	await using server = await ModelServer.start(hosted);
	const found = await openOpenAiPolicy(specOf(server), {});
	assert.equal(found.capabilities.prefix, false);
	const before = server.requests.length;
	const abilities = {
		prefix: 'continue',
		logprobs: false,
		stream: 'no',
		many: false,
		seed: true,
		schema: false,
		stops: 'kept',
		score: false,
	} as const;
	const result = await openOpenAiPolicy(specOf(server, { abilities }), {});
	const { prefix, logprobs, seed, score } = result.capabilities;
	assert.deepEqual({ prefix, logprobs, seed, score }, { prefix: true, logprobs: false, seed: true, score: false });
	assert.deepEqual([found.schemas, result.schemas], [true, false]);
	assert.equal(server.requests.length - before, 1, 'only the first completion was requested');
	const [only] = await Promise.all([openOpenAiPolicy(specOf(server, { abilities: { prefix: 'assistant' } }), {})]);
	assert.deepEqual([only?.capabilities.prefix, only?.capabilities.logprobs], [true, found.capabilities.logprobs]);
});

test('an error during detection is final, except for Too Many Requests', async () => {
	let busy = 2;
	const schemas: number[] = [];
	await using server = await ModelServer.start({
		...vllm,
		intercept: ({ response_format }, response) => {
			if (response_format !== undefined) {
				schemas.push(500);
				response.writeHead(500, { 'content-type': 'application/json' }).end('{"error": {"message": "grammar"}}');
				return true;
			}
			if (busy-- <= 0) return false;
			response.writeHead(429, { 'retry-after': '0' }).end('{}');
			return true;
		},
	});
	const policy = await openOpenAiPolicy(specOf(server, { retries: 4 }), {});
	assert.deepEqual(schemas, [500]);
	const { prefix, logprobs, seed } = policy.capabilities;
	assert.deepEqual({ prefix, logprobs, seed }, { prefix: true, logprobs: true, seed: true });
});

test('a server that does not list models is reported', async () => {
	const server = createServer((_, response) => response.writeHead(404).end('{"detail": "Not Found"}'));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	try {
		const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
		const listed = listModels({ kind: 'openai', name: 'x', baseUrl, api: 'chat', retries: 0 }, {});
		await assert.rejects(listed, /does not provide a model list\. Specify the model with --model NAME/);
	} finally {
		server.close();
	}
});
