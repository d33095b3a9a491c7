import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { buildTokenizer } from '../../../../src/core/text/vocabulary.ts';
import { createBuiltIn } from '../../../../src/rewards/builtIns.ts';
import { type Answered, type Asked, ScriptedServer } from '../../../support/scriptedServer.ts';
import { writeStepModel } from '../../../support/stepModel.ts';
import { r1, sample, worked } from '../../core/reward/rewardSamples.ts';

const folder = mkdtempSync(join(tmpdir(), 'steps-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let server: ScriptedServer | null = null;
afterEach(async () => {
	await server?.stop();
	server = null;
});

const never = new AbortController().signal;
const context = { tags: r1, task: null, folder };
const make = (options: object) => createBuiltIn({ use: 'process', name: 'process', ...options }, context);
const three = sample(worked('a1\n\nb2\n\nc3', '7'), { prompt: 'q' });

async function at(script: (asked: Asked) => Answered): Promise<string> {
	server = await ScriptedServer.start(script);
	return server.origin;
}

describe('steps scored by a server', () => {
	test('are sent as {question, steps} and combined into one value', async () => {
		const url = await at(() => ({ body: { scores: [0.9, 0.5, 0.8] } }));
		const expected = { mean: (0.9 + 0.5 + 0.8) / 3, min: 0.5, last: 0.8, product: 0.9 * 0.5 * 0.8 };
		for (const [aggregate, value] of Object.entries(expected)) {
			assert.equal(await (await make({ url: `${url}/score`, aggregate })).score(three, never), value);
		}
		assert.equal(server?.asked[0]?.path, '/score');
		assert.deepEqual(server?.asked[0]?.body, { question: 'q', steps: ['a1', 'b2', 'c3'] });
	});

	test("are sent in vLLM's /pooling format", async () => {
		const rows = [
			[0.1, 0.9],
			[0.75, 0.25],
			[0.5, 0.5],
		];
		const url = await at(() => ({ body: { id: 'p', data: [{ index: 0, object: 'pooling', data: rows }] } }));
		const reward = await make({ url, api: 'pooling', modelName: 'prm', separator: '<extra_0>' });
		assert.equal(await reward.score(three, never), 0.25);
		assert.equal(server?.asked[0]?.path, '/pooling');
		assert.deepEqual(server?.asked[0]?.body, {
			model: 'prm',
			messages: [
				{ role: 'user', content: 'q' },
				{ role: 'assistant', content: 'a1<extra_0>b2<extra_0>c3<extra_0>' },
			],
			add_generation_prompt: false,
			encoding_format: 'float',
		});
	});

	test('give the row an error if the response is invalid', async () => {
		const bodies: [body: unknown, pattern: RegExp][] = [
			[{ scores: [1, 1] }, /returned 2 scores for 3 steps/],
			[{ scores: [1, 'x', 1] }, /did not return \{"scores"/],
			[{ scores: [1, null, 1] }, /did not return \{"scores"/],
			[{ result: [1, 1, 1] }, /did not return \{"scores"/],
			['[', /is not valid JSON/],
		];
		for (const [body, pattern] of bodies) {
			const url = await at(() => ({ body }));
			const reward = await make({ url });
			await assert.rejects(async () => reward.score(three, never), pattern);
			await server?.stop();
		}
	});

	test('do not apply to a completion without thinking, and send no request', async () => {
		const url = await at(() => ({ body: { scores: [] } }));
		const reward = await make({ url });
		assert.equal(await reward.score(sample(worked(' ', '7')), never), null);
		assert.equal(await reward.score(sample('7'), never), null);
		assert.equal(server?.asked.length, 0);
	});
});

describe('steps scored by an ONNX model', () => {
	const template = { name: 'r1', prompt: '{prompt}', ...r1 };
	const tokenizer = buildTokenizer(template, ['abcq123;\n']);

	function model(name: string, rows: (id: number) => number[], inputs?: string[]): string {
		writeStepModel(join(folder, name), tokenizer, rows, inputs);
		return name;
	}
	const idOf = (character: string) => tokenizer.encode(character)[0] as number;

	test('get the output at the last token of their separator', async () => {
		// The separator is ";", and only its own token's output is used as the score.
		const path = model('plain', (id) => [id === idOf(';') ? 0.25 : 99]);
		const reward = await make({ model: path, separator: ';', aggregate: 'mean' });
		assert.equal(await reward.score(three, never), 0.25);
		// Each score is the token id / 1000, so it shows which position was used: the last character of the separator.
		const ends = model('ends', (id) => [id / 1000]);
		const last = await make({ model: `${ends}/model.onnx`, separator: '1', aggregate: 'last' });
		assert.equal(await last.score(three, never), Math.fround(idOf('1') / 1000));
		reward.dispose?.();
		last.dispose?.();
	});

	test('are normalized to the range 0 to 1 on request', async () => {
		const path = model('two', () => [1, 3]);
		const softmax = await make({ model: path, separator: ';', activation: 'softmax' });
		assert.ok(Math.abs(((await softmax.score(three, never)) as number) - 1 / (1 + Math.exp(-2))) < 1e-7);
		const sigmoid = await make({ model: model('one', () => [2]), separator: ';', activation: 'sigmoid' });
		assert.ok(Math.abs(((await sigmoid.score(three, never)) as number) - 1 / (1 + Math.exp(-2))) < 1e-7);
	});

	test('are tokenized exactly as with the project’s own tokenizer', async () => {
		const { Tokenizer } = await import('@huggingface/tokenizers');
		const theirs = new Tokenizer(JSON.parse(tokenizer.toTokenizerJson()), {});
		for (const text of ['abc', '<think>a;b\n</think>', '1<answer>2', '\n\n']) {
			assert.deepEqual(theirs.encode(text, { add_special_tokens: false }).ids, tokenizer.encode(text), text);
			assert.deepEqual(theirs.encode(text).ids, tokenizer.encodePrompt(text), text);
		}
	});

	test('get an error if the model or its tokenizer cannot process them', async () => {
		const path = model('limits', () => [1]);
		const reward = await make({ model: path, separator: ';', maxTokens: 10 });
		await assert.rejects(async () => reward.score(three, never), /exceeds 10 tokens/);
		const unknown = await make({ model: path, separator: ';' });
		const strange = sample(worked('ü', '7'), { prompt: 'q' });
		await assert.rejects(async () => unknown.score(strange, never), /does not support every character/);
	});

	test('require a token classification model with its tokenizer', async () => {
		await assert.rejects(
			make({ model: model('cache', () => [1], ['input_ids', 'past_key_values']) }),
			/requires inputs other than "input_ids".*past_key_values/s,
		);
		const bare = model('bare', () => [1]);
		rmSync(join(folder, bare, 'tokenizer.json'));
		await assert.rejects(make({ model: bare }), /tokenizer\.json does not exist/);
		writeFileSync(join(folder, bare, 'tokenizer.json'), 'nonsense');
		await assert.rejects(make({ model: bare }), /is not a valid tokenizer\.json/);
		writeFileSync(join(folder, bare, 'tokenizer.json'), tokenizer.toTokenizerJson());
		writeFileSync(join(folder, bare, 'model.onnx'), 'nonsense');
		await assert.rejects(make({ model: bare }), /Cannot load model/);
	});

	test('disable telemetry', () => assert.equal(process.env.ORT_DISABLE_TELEMETRY, '1'));
});
