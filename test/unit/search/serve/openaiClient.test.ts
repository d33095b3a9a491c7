import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI, { APIError, AuthenticationError, BadRequestError, InternalServerError, NotFoundError } from 'openai';
import * as v from 'valibot';
import { searchSpecSchema } from '../../../../src/protocol/searchSpec.ts';
import { createReasoner } from '../../../../src/search/createReasoner.ts';
import { PolicyPool } from '../../../../src/search/policyPool.ts';
import type { Reasoner } from '../../../../src/search/serve/reasoner.ts';
import { type ReasonerServer, serveReasoner } from '../../../../src/search/serve/reasonerServer.ts';

/** Completions with multi-line thinking, where the correct answer is the most frequent. */
const script = [
	{ name: 'adder' },
	{
		prompt: '*17+25=*',
		say: [
			{ text: '<think>17+20=37\n37+5=42\n</think>\n<answer>42</answer>', weight: 6 },
			{ text: '<think>17+25=32\n</think>\n<answer>32</answer>', weight: 2 },
			{ text: '<think>I give up.\n</think>\n<answer>7</answer>', weight: 2 },
		],
	},
	{ prompt: 'refuse', say: 'No.', finish: 'refusal' },
	{ prompt: 'fail', fail: { reason: 'unavailable', message: 'The model is gone.' } },
	{ say: '<think>Who knows.</think><answer>0</answer>' },
];

const folder = await mkdtemp(join(tmpdir(), 'reasoner-'));
const pool = new PolicyPool(0);
let reasoner: Reasoner;
let server: ReasonerServer;
let client: OpenAI;

before(async () => {
	await writeFile(join(folder, 'adder.jsonl'), script.map((line) => JSON.stringify(line)).join('\n'));
	const spec = v.parse(searchSpecSchema, {
		policy: { kind: 'scripted', file: 'adder.jsonl' },
		strategy: 'self-consistency',
		params: { n: 16 },
		budget: { tokens: 4000 },
	});
	const context = { pool, policies: { engine: '', client: 'test', folder } };
	reasoner = await createReasoner({ spec, context });
	server = await serveReasoner({ reasoner, port: 0, token: 'adder-token', limits: { keepAliveMs: 5 } });
	client = new OpenAI({ apiKey: 'adder-token', baseURL: server.url, maxRetries: 0 });
});

after(async () => {
	await server.close(0);
	reasoner.dispose();
	pool.dispose();
	await rm(folder, { recursive: true, force: true });
});

const question = [{ role: 'user', content: '17+25=' }] as const;
const model = 'adder';
/** Extensions to the OpenAI API, which the client passes through. */
type Beyond = { readonly reasoning_content?: string; readonly search?: Record<string, unknown> };
const beyond = (value: object) => value as Beyond;

describe('with the OpenAI client', () => {
	test('the model list contains the policy and its search strategies', async () => {
		const ids = [];
		for await (const { id } of client.models.list()) ids.push(id);
		assert.equal(ids[0], 'adder');
		assert.ok(ids.includes('adder:self-consistency'));
		assert.ok(!ids.includes('adder:best-of-n'), 'no scorer is set');
		assert.equal((await client.models.retrieve('adder:self-consistency')).object, 'model');
		await assert.rejects(client.models.retrieve('nobody'), NotFoundError);
	});

	test('a chat reply contains the thinking, the answer and the usage', async () => {
		const reply = await client.chat.completions.create({ model, messages: [...question], seed: 3 });
		const [choice] = reply.choices;
		assert.equal(choice?.message.content, '42');
		assert.equal(beyond(choice?.message ?? {}).reasoning_content, '17+20=37\n37+5=42');
		assert.equal(choice?.finish_reason, 'stop');
		const search = beyond(choice ?? {}).search;
		assert.equal(search?.strategy, 'self-consistency');
		assert.equal(search?.stop, 'complete');
		assert.equal(search?.answer, '42');
		assert.equal(search?.nodes, 16);
		assert.equal(search?.path, undefined);
		assert.equal(reply.usage?.completion_tokens, search?.tokens);
		assert.equal(reply.usage?.total_tokens, (reply.usage?.prompt_tokens ?? 0) + (reply.usage?.completion_tokens ?? 0));
		const again = await client.chat.completions.create({ model, messages: [...question], seed: 3 });
		assert.deepEqual(again.choices[0]?.message, choice?.message);
		assert.equal(beyond(again.choices[0] ?? {}).search?.tokens, search?.tokens);
	});

	test('a request can configure the search and ask for either the path from the root to the result or the whole log', async () => {
		const ask = (search: object) =>
			client.chat.completions.create({
				model,
				messages: [...question],
				seed: 1,
				search,
			} as never) as Promise<OpenAI.ChatCompletion>;
		const one = await ask({ params: { n: 4 }, return: 'path' });
		const path = beyond(one.choices[0] ?? {}).search?.path as { text: string; role: string }[];
		assert.deepEqual(
			path.map(({ role }) => role),
			['problem', 'answer'],
		);
		assert.match(path[1]?.text ?? '', /<answer>/);
		const all = await ask({ params: { n: 4 }, return: 'events' });
		const events = beyond(all.choices[0] ?? {}).search?.events as { t: string }[];
		assert.deepEqual([events[0]?.t, events.at(-1)?.t], ['start', 'end']);
		assert.equal(events.filter(({ t }) => t === 'node').length, 5);
		const cut = await ask({ budget: { nodes: 2 } });
		assert.equal(beyond(cut.choices[0] ?? {}).search?.stop, 'nodes');
		const none = await ask({ budget: { nodes: 0 } });
		assert.deepEqual([none.choices[0]?.message.content, none.choices[0]?.finish_reason], ['', 'length']);
		for (const search of [
			{ budget: { tokens: 5000 } },
			{ params: { n: 0 } },
			{ strategy: 'best-of-n' },
			{ strategy: 'x' },
		]) {
			await assert.rejects(ask(search), BadRequestError, JSON.stringify(search));
		}
	});

	test('several choices, a stop text and legacy completions are supported', async () => {
		const chat = await client.chat.completions.create({ model, messages: [...question], n: 3, stop: '2', seed: 9 });
		assert.deepEqual(
			chat.choices.map(({ index }) => index),
			[0, 1, 2],
		);
		assert.deepEqual(
			chat.choices.map(({ message }) => message.content),
			['4', '4', '4'],
		);
		const completion = await client.completions.create({ model: 'adder:self-consistency', prompt: '17+25=', seed: 3 });
		assert.equal(completion.choices[0]?.text, '<think>17+20=37\n37+5=42\n</think>\n<answer>42</answer>');
		assert.equal(completion.choices[0]?.finish_reason, 'stop');
		assert.equal(completion.object, 'text_completion');
	});

	test('the conversation before the problem reaches the policy', async () => {
		const reply = await client.chat.completions.create({
			model,
			messages: [
				{ role: 'system', content: 'Add.' },
				{ role: 'user', content: '1+1=' },
				{ role: 'assistant', content: '2' },
				{ role: 'user', content: [{ type: 'text', text: 'And 17+25=' }] },
			],
			seed: 5,
		});
		assert.equal(reply.choices[0]?.message.content, '42');
	});

	test('a refusal and a failing policy are reported as such', async () => {
		const ask = (content: string) => client.chat.completions.create({ model, messages: [{ role: 'user', content }] });
		assert.equal((await ask('refuse')).choices[0]?.finish_reason, 'content_filter');
		await assert.rejects(ask('fail'), (error) => {
			assert.ok(error instanceof InternalServerError);
			assert.equal(error.code, 'policy_failed');
			return /The model is gone/.test(error.message);
		});
		const stream = await client.chat.completions.create({
			model,
			messages: [{ role: 'user', content: 'fail' }],
			stream: true,
		});
		await assert.rejects(async () => {
			for await (const _ of stream);
		}, /The model is gone/);
	});

	test('errors arrive as exceptions from the client library', async () => {
		const stranger = new OpenAI({ apiKey: 'nonsense', baseURL: server.url, maxRetries: 0 });
		await assert.rejects(stranger.models.list(), AuthenticationError);
		const refused = client.chat.completions.create({ model: 'gpt-9', messages: [...question] });
		await assert.rejects(refused, (error) => error instanceof APIError && error.code === 'model_not_found');
	});
});

describe('as a stream', () => {
	async function streamed(search: object, more: object = {}) {
		const stream = (await client.chat.completions.create({
			model,
			messages: [...question],
			seed: 3,
			stream: true,
			stream_options: { include_usage: true },
			search,
			...more,
		} as never)) as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>;
		const chunks: OpenAI.ChatCompletionChunk[] = [];
		for await (const chunk of stream) chunks.push(chunk);
		const text = (
			of: (delta: OpenAI.ChatCompletionChunk.Choice.Delta & Beyond) => string | null | undefined,
			index = 0,
		) =>
			chunks
				.flatMap(({ choices }) => choices.filter((one) => one.index === index))
				.map(({ delta }) => of(delta) ?? '')
				.join('');
		return {
			chunks,
			content: (i = 0) => text((delta) => delta.content, i),
			reasoning: text((delta) => delta.reasoning_content),
		};
	}

	test('a result arrives when it is found, with its statistics', async () => {
		const { chunks, content, reasoning } = await streamed({ params: { n: 16 } });
		assert.equal(content(), '42');
		assert.equal(reasoning, '17+20=37\n37+5=42');
		assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant');
		const last = chunks.findLast(({ choices }) => choices.length > 0)?.choices[0];
		assert.equal(last?.finish_reason, 'stop');
		assert.equal(beyond(last ?? {}).search?.nodes, 16);
		assert.equal(chunks.at(-1)?.usage?.completion_tokens, beyond(last ?? {}).search?.tokens);
	});

	test('the chunks of a single chain add up to the whole, and several choices remain separate', async () => {
		for (const seed of [1, 2, 3, 4]) {
			const whole = (await client.chat.completions.create({
				model,
				messages: [...question],
				seed,
				search: { params: { n: 1 } },
			} as never)) as OpenAI.ChatCompletion;
			const { content, reasoning } = await streamed({ params: { n: 1 } }, { seed });
			assert.equal(content(), whole.choices[0]?.message.content);
			assert.equal(reasoning, beyond(whole.choices[0]?.message ?? {}).reasoning_content);
		}
		const several = await streamed({ params: { n: 16 } }, { n: 2 });
		assert.deepEqual([several.content(0), several.content(1)], ['42', '42']);
	});

	test('a legacy completion is streamed verbatim', async () => {
		const stream = await client.completions.create({ model, prompt: '17+25=', seed: 3, stream: true });
		let text = '';
		for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
		assert.equal(text, '<think>17+20=37\n37+5=42\n</think>\n<answer>42</answer>');
	});

	test('an invalid request is rejected before the stream starts', async () => {
		await assert.rejects(streamed({ strategy: 'nothing' }), BadRequestError);
	});
});
