import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import OpenAI, { BadRequestError, InternalServerError } from 'openai';
import type { SearchSpecInput } from '../../../../src/protocol/searchSpec.ts';
import { createReasoner } from '../../../../src/search/createReasoner.ts';
import { serveReasoner } from '../../../../src/search/serve/reasonerServer.ts';
import { addsOnce, callingServer } from '../../../support/callingServer.ts';
import { ModelServer, type ModelServerOptions } from '../../policies/modelServer.ts';
import { contextFor, folderFor, specOf } from '../searchFixtures.ts';

const secret = 'sk-0123456789abcdef';

async function serve(context: TestContext, upstream: ModelServer, spec: Partial<SearchSpecInput> = {}) {
	const folder = await folderFor(context);
	const policy = { kind: 'openai', name: 'm', baseUrl: upstream.url, model: 'm', api: 'chat', retries: 0 } as const;
	const fixture = contextFor(context, folder);
	const keys = JSON.stringify({ [new URL(upstream.url).origin]: secret });
	const reasoner = await createReasoner({
		spec: specOf({ policy, strategy: 'self-consistency', params: { n: 3 }, sampling: { maxTokens: 20 }, ...spec }),
		context: { ...fixture, policies: { ...fixture.policies, environment: { REASONING_LAB_API_KEYS: keys } } },
	});
	const server = await serveReasoner({ reasoner, port: 0, token: null });
	context.after(async () => {
		await server.close(0);
		reasoner.dispose();
	});
	upstream.requests.length = 0;
	return new OpenAI({ apiKey: 'none', baseURL: server.url, maxRetries: 0 });
}

const parameters = {
	type: 'object',
	properties: { a: { type: 'number' }, b: { type: 'number' } },
	required: ['a', 'b'],
};
const add = { type: 'function', function: { name: 'add', description: 'Adds.', parameters } } as const;
const user = (content: string) => ({ role: 'user', content }) as const;
const asked = [{ role: 'system', content: 'Be brief.' } as const, user('2+3=')];

describe('tools in the Reasoner API', { timeout: 120_000 }, () => {
	for (const stream of [false, true]) {
		test(`the client's own tool loop leads to a searched answer, ${stream ? 'as a stream' : 'whole'}`, async (context) => {
			await using upstream = await callingServer(addsOnce);
			const client = await serve(context, upstream);
			const seen: unknown[] = [];
			const tool = {
				...add,
				function: {
					...add.function,
					parse: JSON.parse,
					function: ({ a, b }: { a: number; b: number }) => {
						seen.push([a, b]);
						return String(a + b);
					},
				},
			};
			const options = { model: 'm', messages: [...asked], tools: [tool] };
			const runner = stream
				? client.chat.completions.runTools({ ...options, stream: true })
				: client.chat.completions.runTools(options);
			const content = await runner.finalContent();
			assert.deepEqual(seen, [
				[2, 3],
				[4, 5],
			]);
			assert.ok((content ?? '').length > 0);
			const replies = runner.allChatCompletions();
			assert.deepEqual(
				replies.map(({ choices: [choice] }) => [choice?.finish_reason, choice?.message.tool_calls?.length]),
				[
					['tool_calls', 2],
					['stop', undefined],
				],
			);
			const [calling, answering] = replies as unknown as {
				choices: { search: { nodes: number } | null; message: { reasoning_content?: string } }[];
			}[];
			assert.equal(calling?.choices[0]?.search, null);
			assert.equal(calling?.choices[0]?.message.reasoning_content, 'I need a tool.');
			assert.ok((answering?.choices[0]?.search?.nodes ?? 0) > 0);
			// The tools were offered twice, and the subsequent search saw their results.
			const offered = upstream.requests.filter(({ body }) => body.tools !== undefined);
			assert.equal(offered.length, 2);
			assert.deepEqual(offered[0]?.body.tools, [add]);
			const searched = upstream.requests.filter(({ body }) => body.tools === undefined);
			assert.ok(searched.length > 0);
			for (const { body } of searched) {
				assert.deepEqual(
					body.messages?.map(({ role }) => role),
					['system', 'user', 'assistant', 'tool', 'tool'],
				);
				const [, , calls, result] = body.messages as unknown as [
					never,
					never,
					OpenAI.ChatCompletionAssistantMessageParam,
					{ tool_call_id: string; content: string },
				];
				assert.deepEqual(
					calls.tool_calls?.map(({ id }) => id),
					['call_a', 'call_b'],
				);
				assert.deepEqual([result.tool_call_id, result.content], ['call_a', '5']);
			}
		});
	}

	test('a reply without calls leads to a search, and usage includes both', async (context) => {
		await using upstream = await callingServer(() => null);
		const client = await serve(context, upstream);
		const reply = await client.chat.completions.create({ model: 'm', messages: asked, tools: [add] });
		const [choice] = reply.choices as unknown as { finish_reason: string; search: { tokens: number; nodes: number } }[];
		assert.ok((choice?.search.nodes ?? 0) > 0);
		assert.ok((reply.usage?.completion_tokens ?? 0) > (choice?.search.tokens ?? Infinity));
		const none = await client.chat.completions.create({
			model: 'm',
			messages: asked,
			tools: [add],
			tool_choice: 'none',
		});
		assert.equal(none.choices[0]?.message.tool_calls, undefined);
		assert.equal(upstream.requests.filter(({ body }) => body.tools !== undefined).length, 1);
	});

	test('tool_choice, parallel calls, sampling and n reach the server, and each choice has its own calls', async (context) => {
		let made = 0;
		await using upstream = await callingServer(() => [{ name: 'add', arguments: `{"a": ${made++}}` }]);
		const client = await serve(context, upstream);
		const tool_choice = { type: 'function', function: { name: 'add' } } as const;
		const reply = await client.chat.completions.create({
			...{ model: 'm', messages: asked, tools: [add], n: 2, temperature: 0.25, top_p: 0.5, max_tokens: 9 },
			...{ tool_choice, parallel_tool_calls: false },
		});
		for (const { body } of upstream.requests) {
			const { temperature, top_p, max_tokens, parallel_tool_calls } = body;
			assert.deepEqual([temperature, top_p, max_tokens, parallel_tool_calls], [0.25, 0.5, 9, false]);
			assert.deepEqual(body.tool_choice, tool_choice);
		}
		const [one, two] = reply.choices.map(({ message }) => message.tool_calls?.[0]);
		assert.notDeepEqual(one, two);
		assert.match(one?.id ?? '', /^call_[0-9a-f]{24}$/);
		assert.deepEqual(reply.usage, { prompt_tokens: 22, completion_tokens: 14, total_tokens: 36 });
	});

	test('a server that does not stream tool calls is asked for the whole reply', async (context) => {
		await using upstream = await callingServer(addsOnce, { wholeOnly: true });
		const client = await serve(context, upstream);
		const reply = await client.chat.completions.create({ model: 'm', messages: asked, tools: [add] });
		assert.equal(reply.choices[0]?.message.tool_calls?.length, 2);
		assert.deepEqual(
			upstream.requests.map(({ body }) => body.stream),
			[true, undefined],
		);
	});

	test('the responses API returns calls as items, with and without streaming, and searches over their results', async (context) => {
		await using upstream = await callingServer(addsOnce);
		const client = await serve(context, upstream);
		const {
			type,
			function: { name, description },
		} = add;
		const tools = [{ type, name, description, parameters, strict: null }];
		const input: OpenAI.Responses.ResponseInput = [user('2+3=')];
		const whole = await client.responses.create({ model: 'm', input, tools, tool_choice: 'required' });
		assert.deepEqual(
			whole.output.map((item) => item.type),
			['reasoning', 'function_call', 'function_call'],
		);
		assert.deepEqual([whole.status, whole.tool_choice, whole.tools], ['completed', 'required', tools]);
		assert.deepEqual(upstream.requests[0]?.body.tools, [add]);
		const stream = client.responses.stream({ model: 'm', input, tools });
		const events: OpenAI.Responses.ResponseStreamEvent[] = [];
		for await (const event of stream) events.push(event);
		const final = await stream.finalResponse();
		assert.deepEqual(
			events.map(({ sequence_number }) => sequence_number),
			events.map((_, i) => i),
		);
		const said = events.flatMap((event) =>
			event.type === 'response.function_call_arguments.done' ? [event.arguments] : [],
		);
		assert.deepEqual(said, ['{"a": 2, "b": 3}', '{"a": 4, "b": 5}']);
		const calls = final.output.filter((item) => item.type === 'function_call');
		assert.deepEqual(
			calls.map(({ call_id }) => call_id),
			['call_a', 'call_b'],
		);
		const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: '5' }));
		const answered = await client.responses.create({
			model: 'm',
			input: [...input, ...(whole.output as OpenAI.Responses.ResponseInput), ...results],
			tools,
		});
		assert.ok(answered.output_text.length > 0);
		assert.deepEqual(
			upstream.requests.at(-1)?.body.messages?.map(({ role }) => role),
			['user', 'assistant', 'tool', 'tool'],
		);
	});

	test('each failure is reported as one clear error', async (context) => {
		const refuses: ModelServerOptions['intercept'] = (body, response) => {
			if (body.tools === undefined) return false;
			response.writeHead(400, { 'content-type': 'application/json' });
			response.end('{"error": {"message": "tools need --jinja"}}');
			return true;
		};
		await using without = await ModelServer.start({ stream: 'usage', intercept: refuses });
		const ask = { model: 'm', messages: asked, tools: [add] };
		const refused = (await serve(context, without)).chat.completions.create(ask);
		await assert.rejects(
			refused,
			(error) => error instanceof BadRequestError && error.param === 'tools' && /--jinja/.test(error.message),
		);
		// A completions policy has no chat in which to offer tools.
		const policy = { kind: 'openai', name: 'm', baseUrl: without.url, model: 'm', api: 'completions' } as const;
		const texts = (await serve(context, without, { policy })).chat.completions.create({
			...ask,
			messages: [user('1')],
		});
		await assert.rejects(
			texts,
			(error) =>
				error instanceof BadRequestError &&
				error.param === 'tools' &&
				/does not support tool calls/.test(error.message),
		);
		await using silent = await callingServer(() => null);
		const owed = (await serve(context, silent)).chat.completions.create({ ...ask, tool_choice: 'required' });
		await assert.rejects(owed, (error) => error instanceof InternalServerError && error.code === 'no_tool_call');
		await using nameless = await callingServer(() => [{ name: '', arguments: '{}' }]);
		const broken = (await serve(context, nameless)).chat.completions.create(ask);
		await assert.rejects(broken, (error) => error instanceof OpenAI.APIError && /without a name/.test(error.message));
		const started = (await serve(context, silent)).chat.completions.create({
			...ask,
			messages: [...asked, { role: 'assistant', content: 'It' }],
		});
		await assert.rejects(started, (error) => error instanceof BadRequestError && error.param === 'messages');
	});

	test('a key that the server echoes inside a call is not returned', async (context) => {
		await using upstream = await callingServer(() => [{ id: secret, name: 'add', arguments: `{"a": "${secret}"}` }]);
		const client = await serve(context, upstream);
		for (const stream of [false, true]) {
			upstream.options = { ...upstream.options, stream: stream ? 'usage' : 'no' };
			const reply = await client.chat.completions.create({ model: 'm', messages: asked, tools: [add] });
			assert.ok(upstream.requests.every(({ key }) => key === `Bearer ${secret}`));
			assert.doesNotMatch(JSON.stringify(reply), new RegExp(secret));
			assert.equal(reply.choices[0]?.message.tool_calls?.length, 1);
		}
	});
});
