import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import OpenAI, { BadRequestError } from 'openai';
import { parseTokenizerJson } from '../../../../src/core/text/parseTokenizerJson.ts';
import type { ScriptInput } from '../../../../src/policies/scripted/script.ts';
import type { SearchSpecInput } from '../../../../src/protocol/searchSpec.ts';
import { createReasoner } from '../../../../src/search/createReasoner.ts';
import { modelName } from '../../../../src/search/serve/modelName.ts';
import { type ReasonerServerOptions, serveReasoner } from '../../../../src/search/serve/reasonerServer.ts';
import { labCheckpoint } from '../../../support/labCheckpoint.ts';
import { ModelServer } from '../../policies/modelServer.ts';
import { contextFor, folderFor, scriptIn, specOf } from '../searchFixtures.ts';

const script: ScriptInput = {
	name: 'adder, step 160',
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	rules: [
		{ prompt: 'Be brief.\n\n1+1=', say: '<answer>prepended</answer>' },
		{ prompt: '1+1=', say: '<think>one and one</think><answer>2</answer>' },
		{ prompt: '2+2=', say: '<think>two and two</think><answer>4</answer>' },
		{ prompt: 'ä*', fail: { reason: 'invalid', message: 'The symbol "ä" does not exist in the vocabulary.' } },
	],
};

async function start(
	context: TestContext,
	spec: Partial<SearchSpecInput> & { readonly policy?: SearchSpecInput['policy'] },
	options: Partial<ReasonerServerOptions> = {},
	played: ScriptInput = script,
) {
	const folder = await folderFor(context);
	const file = await scriptIn(folder, played);
	const reasoner = await createReasoner({
		spec: specOf({ policy: { kind: 'scripted', file }, strategy: 'best-of-n', params: { n: 1 }, ...spec }),
		context: contextFor(context, folder),
	});
	const server = await serveReasoner({ reasoner, port: 0, token: null, ...options });
	context.after(async () => {
		await server.close(0);
		reasoner.dispose();
	});
	return { server, client: new OpenAI({ apiKey: 'none', baseURL: server.url, maxRetries: 0 }), model: server.model };
}

const user = (content: string) => ({ role: 'user', content }) as const;

describe('requests sent by clients of the Reasoner API', { timeout: 120_000 }, () => {
	test('model names have no spaces, but the policy name is accepted too', async (context) => {
		const { client, model } = await start(context, {});
		assert.equal(model, 'adder-step-160');
		for (const name of [model, 'adder, step 160', `${model}:self-consistency`]) {
			const reply = await client.chat.completions.create({ model: name, messages: [user('1+1=')] });
			assert.equal(reply.choices[0]?.message.content, '2');
		}
		assert.equal(modelName('Qwen/Qwen3-0.6B at localhost:8000'), 'Qwen/Qwen3-0.6B-at-localhost-8000');
		assert.equal(modelName(', :'), 'policy');
	});

	test('prompt lists, n per prompt, and echo are supported', async (context) => {
		const { client, model } = await start(context, {});
		const reply = await client.completions.create({ model, prompt: ['1+1=', '2+2='], n: 2, echo: true });
		assert.deepEqual(
			reply.choices.map(({ index, text }) => [index, /<answer>(\d)/.exec(text)?.[1], text.slice(0, 4)]),
			[
				[0, '2', '1+1='],
				[1, '2', '1+1='],
				[2, '4', '2+2='],
				[3, '4', '2+2='],
			],
		);
		const many = await client.chat.completions.create({ model, messages: [user('1+1=')], n: 128 });
		assert.equal(many.choices.length, 128);
	});

	test('log-probabilities of generated text are returned in chat, completions and streams', async (context) => {
		const { client, model } = await start(context, {});
		const chat = await client.chat.completions.create({
			model,
			messages: [user('1+1=')],
			logprobs: true,
			top_logprobs: 2,
		});
		const content = chat.choices[0]?.logprobs?.content ?? [];
		assert.equal(content.map(({ token }) => token).join(''), '<think>one and one</think><answer>2</answer>');
		assert.ok(content.every(({ logprob, top_logprobs }) => logprob === 0 && top_logprobs.length === 1));
		const { choices } = await client.completions.create({ model, prompt: '1+1=', logprobs: 1, stop: '</think>' });
		assert.equal(choices[0]?.text, '<think>one and one');
		assert.equal(choices[0]?.logprobs?.tokens?.join(''), '<think>one and one');
		assert.equal(choices[0]?.logprobs?.text_offset?.[0], 0);
		assert.equal(choices[0]?.logprobs?.token_logprobs?.length, choices[0]?.logprobs?.tokens?.length);
		const stream = await client.completions.create({ model, prompt: '1+1=', logprobs: 0, stream: true });
		let tokens: string[] = [];
		for await (const chunk of stream) tokens = chunk.choices[0]?.logprobs?.tokens ?? tokens;
		assert.equal(tokens.join(''), '<think>one and one</think><answer>2</answer>');
		const dumb = await start(context, {}, {}, { ...script, without: ['logprobs'] });
		await assert.rejects(
			dumb.client.chat.completions.create({ model: dumb.model, messages: [user('1+1=')], logprobs: true }),
			(error) => error instanceof BadRequestError && error.param === 'logprobs',
		);
	});

	test('a final assistant message is continued, with and without streaming', async (context) => {
		const { client, model } = await start(context, {});
		const messages = [user('1+1='), { role: 'assistant' as const, content: '<think>one ' }];
		const reply = await client.chat.completions.create({ model, messages });
		const message = reply.choices[0]?.message as { reasoning_content?: string } | undefined;
		assert.equal(message?.reasoning_content, 'and one');
		assert.equal(reply.choices[0]?.message.content, '2');
		assert.equal((reply.choices[0] as unknown as { search: { answer: string } }).search.answer, '2');
		const stream = await client.chat.completions.create({ model, messages, stream: true });
		let [reasoning, content] = ['', ''];
		for await (const { choices } of stream) {
			const delta = choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined;
			reasoning += delta?.reasoning_content ?? '';
			content += delta?.content ?? '';
		}
		assert.deepEqual([reasoning, content], ['and one', '2']);
		const fresh = await start(context, {}, {}, { ...script, without: ['prefix'] });
		await assert.rejects(
			fresh.client.chat.completions.create({ model: fresh.model, messages }),
			(error) => error instanceof BadRequestError && error.param === 'messages',
		);
	});

	test('system messages are kept, prepended to the problem or dropped, as configured', async (context) => {
		const result = { ...script, without: ['instructions' as const] };
		const messages = [{ role: 'system' as const, content: 'Be brief.' }, user('1+1=')];
		const kept = await start(context, {}, {}, result);
		await assert.rejects(kept.client.chat.completions.create({ model: kept.model, messages }), /--system-messages/);
		for (const [systemMessages, expected] of [
			['prepend', 'prepended'],
			['drop', '2'],
		] as const) {
			const { client, model } = await start(context, {}, { systemMessages }, result);
			const reply = await client.chat.completions.create({ model, messages });
			assert.equal(reply.choices[0]?.message.content, expected);
			const response = await client.responses.create({ model, instructions: 'Be brief.', input: '1+1=' });
			assert.equal(response.output_text, expected);
		}
	});

	test('a prompt that the policy cannot tokenize is a client error rather than a server error', async (context) => {
		const { client, model } = await start(context, {});
		for (const ask of [
			() => client.chat.completions.create({ model, messages: [user('äöü')] }),
			() => client.completions.create({ model, prompt: ['1+1=', 'ä'] }),
			() => client.responses.create({ model, input: 'ä' }),
		]) {
			await assert.rejects(ask(), (error) => {
				assert.ok(error instanceof BadRequestError, String(error));
				assert.equal(error.code, 'invalid_prompt');
				return /does not exist in the vocabulary/.test(error.message);
			});
		}
	});

	test('the responses API works with and without streaming', async (context) => {
		const { client, model } = await start(context, {});
		const response = await client.responses.create({ model, input: [user('1+1=')], max_output_tokens: 100 });
		assert.deepEqual([response.status, response.output_text, response.object], ['completed', '2', 'response']);
		assert.equal(response.output[0]?.type, 'reasoning');
		const { input_tokens = 0, output_tokens = 0, total_tokens } = response.usage ?? {};
		assert.ok(output_tokens > 0);
		assert.equal(total_tokens, input_tokens + output_tokens);
		const cut = await client.responses.create({ model, input: '1+1=', max_output_tokens: 1 });
		assert.deepEqual([cut.status, cut.incomplete_details?.reason], ['incomplete', 'max_output_tokens']);
		const events: OpenAI.Responses.ResponseStreamEvent[] = [];
		for await (const event of client.responses.stream({ model, input: '1+1=' })) events.push(event);
		assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed']);
		assert.deepEqual(
			events.map(({ sequence_number }) => sequence_number),
			events.map((_, i) => i),
		);
		const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
		assert.equal(text, '2');
		const final = await client.responses.stream({ model, input: '1+1=' }).finalResponse();
		assert.equal(final.output_text, '2');
	});
});

test('echo with log-probabilities is passed to a server that echoes prompts, and is otherwise a 400', async (context) => {
	await using upstream = await ModelServer.start({ stream: 'usage', logprobs: 5, echo: true });
	const policy = { kind: 'openai', name: 'm', baseUrl: upstream.url, model: 'm' } as const;
	const ask = async (api: 'chat' | 'completions') => {
		const { client, model } = await start(context, { policy: { ...policy, api } });
		return client.completions.create({ model, prompt: ['a bc', 'd'], echo: true, logprobs: 1, max_tokens: 0 });
	};
	const { choices, usage } = await ask('completions');
	assert.deepEqual(
		choices.map(({ text, logprobs }) => [text, logprobs?.tokens, logprobs?.token_logprobs]),
		[
			['a bc', ['a', ' bc'], [null, -3]],
			['d', ['d'], [null]],
		],
	);
	assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [3, 0]);
	await assert.rejects(ask('chat'), (error) => error instanceof BadRequestError && error.param === 'echo');
});

test('a checkpoint accepts text and token ids verbatim', { timeout: 120_000 }, async (context) => {
	const { client, model } = await start(context, {
		policy: { kind: 'checkpoint', folder: labCheckpoint },
		sampling: { maxTokens: 24 },
	});
	const tokenizer = parseTokenizerJson(await readFile(join(labCheckpoint, 'tokenizer.json'), 'utf8'));
	const text = '3+4=<think>3+4=7</think><answer>7</answer>';
	const ids = tokenizer.encode(text);
	const read = (prompt: string | number[] | number[][], max_tokens = 1) =>
		client.completions.create({ model, prompt, echo: true, logprobs: 1, max_tokens, temperature: 0 });
	const byText = await read(text);
	const [choice] = byText.choices;
	assert.equal(choice?.logprobs?.tokens?.length, ids.length + 1);
	assert.equal(choice?.text.startsWith(text), true);
	assert.equal(byText.usage?.prompt_tokens, ids.length);
	assert.equal(byText.usage?.completion_tokens, 1);
	const logprobs = choice?.logprobs?.token_logprobs ?? [];
	assert.ok(logprobs.every((one) => typeof one === 'number' && one <= 0));
	const top = choice?.logprobs?.top_logprobs ?? [];
	// Each position lists the top token and the actual token, which may be the same.
	for (const [i, own] of logprobs.entries()) {
		const max = Math.max(...Object.values(top[i] as Record<string, number>));
		assert.ok((own as number) <= max);
		assert.equal((top[i] as Record<string, number>)[choice?.logprobs?.tokens?.[i] as string], own);
	}
	const byIds = await read([ids, [1, ...ids]]);
	assert.deepEqual(byIds.choices[0]?.logprobs, choice?.logprobs);
	assert.deepEqual(byIds.choices[1]?.logprobs?.token_logprobs, [null, ...logprobs]);
	const alone = await read(text, 0);
	assert.equal(alone.choices[0]?.text, text);
	// Compared with the values that the engine computes in training.
	const golden = JSON.parse(await readFile(new URL('../../../fixtures/trainer/lab.json', import.meta.url), 'utf8')) as {
		temperature: number;
		rows: { prompt: string; completion: string; logprobs: number[] }[];
	}[];
	for (const { prompt, completion, logprobs: expected } of golden[0]?.rows ?? []) {
		if (prompt === '') continue;
		const [one] = (await read(prompt + completion, 0)).choices;
		const own = one?.logprobs?.token_logprobs?.slice(tokenizer.encode(prompt).length) ?? [];
		for (const [i, value] of own.entries()) assert.ok(Math.abs((value as number) - (expected[i] as number)) < 1e-3);
	}
	await assert.rejects(
		read('ä'),
		(error) => error instanceof BadRequestError && /not in the vocabulary/.test(error.message),
	);
	await assert.rejects(read([9999]), BadRequestError);
	await assert.rejects(read([5, 2, 5]), /Special tokens/);
	const chat = client.chat.completions.create({ model, messages: [user('ä')] });
	await assert.rejects(chat, (error) => error instanceof BadRequestError && error.code === 'invalid_prompt');
});
