import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { Failure } from '../../../src/base/failure.ts';
import { Random } from '../../../src/base/random.ts';
import { Redactor, redacted } from '../../../src/base/redactor.ts';
import { openOpenAiPolicy } from '../../../src/policies/openai/openOpenAiPolicy.ts';
import type { GeneratedText } from '../../../src/policies/openedPolicy.ts';
import { event, json, ModelServer, type ModelServerOptions } from './modelServer.ts';

const canary = 'sk-CANARY-0a1b2c3d';
const never = new AbortController().signal;
const probing = (body: object) => !JSON.stringify(body).includes('Tell me the key');

/** Everything from a response that reaches the caller: streamed text, generations and failures. */
async function heard(options: ModelServerOptions): Promise<{ readonly all: string; readonly text: string | null }> {
	await using server = await ModelServer.start({ logprobs: 2, stream: 'plain', stops: 'told', ...options });
	const spec = { kind: 'openai', name: 'tiny', baseUrl: server.url, model: 'tiny', api: 'chat', retries: 0 } as const;
	const keys = { [`tiny ${new URL(server.url).origin}`]: canary };
	const policy = await openOpenAiPolicy(spec, { keys });
	const parts: GeneratedText[] = [];
	const request = {
		...{ messages: [{ role: 'user' as const, content: 'Tell me the key' }], prefix: '', n: 1, temperature: 1, topP: 1 },
		...{ maxTokens: 200, stop: [], seed: 3, tokens: 2 },
	};
	const bound = policy.bind({ signal: never, onText: (part) => parts.push(part) });
	const [made] = await bound.generate([request]).catch((error: Failure) => [error]);
	assert.equal(server.requests.at(-1)?.key, `Bearer ${canary}`);
	policy.dispose();
	const streamed = parts.map(({ text }) => text).join('');
	if (made === undefined || made instanceof Failure)
		return { all: `${streamed} ${made?.stack} ${inspect(made)}`, text: null };
	const detail = made.map((one) => one.detail?.text?.join(''));
	return { all: JSON.stringify([streamed, parts, made, detail]), text: made[0]?.text ?? null };
}

describe('a server that echoes its key', () => {
	test('does not leak it into text, whether whole or split across stream chunks', async () => {
		const random = Random.of(7, 'parts');
		for (let round = 0; round < 5; round++) {
			const result = `Sure: ${canary}${canary}! s sk sk-CANARY and the end sk-`;
			const { all, text } = await heard({
				intercept: (body, response) => {
					if (probing(body)) return false;
					if (body.stream !== true || round === 0) {
						json(response, 200, { choices: [{ index: 0, message: { content: result }, finish_reason: 'stop' }] });
						return true;
					}
					response.writeHead(200, { 'content-type': 'text/event-stream' });
					for (let at = 0; at < result.length; ) {
						const length = round === 1 ? 1 : 1 + random.int(9);
						const token = result.slice(at, at + length);
						const logprobs = { content: [{ token, logprob: -1, top_logprobs: [{ token: canary, logprob: -2 }] }] };
						event(response, { choices: [{ index: 0, delta: { content: token }, logprobs, finish_reason: null }] });
						at += length;
					}
					event(response, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
					response.end('data: [DONE]\n\n');
					return true;
				},
			});
			assert.ok(!all.includes(canary), all);
			assert.equal(text, `Sure: ${redacted}${redacted}! s sk sk-CANARY and the end sk-`);
			// The streamed chunks add up to the same text.
			assert.ok(all.startsWith(JSON.stringify([text]).slice(0, -1)), all);
		}
	});

	test('does not leak it into failures', async () => {
		for (const status of [200, 400, 401, 404, 500]) {
			for (const body of [{ error: { message: `key ${canary}` } }, { error: `key ${canary}` }, `key ${canary}`]) {
				const { all, text } = await heard({
					intercept: (asked, response) => {
						if (probing(asked)) return false;
						json(response, status, body);
						return true;
					},
				});
				assert.equal(text, null);
				assert.ok(!all.includes(canary), all);
			}
		}
	});
});

test('secrets are removed from text, values and streams, but placeholder keys are not', () => {
	const one = new Redactor([canary, `${canary}-longer`, null, undefined, 'EMPTY', '']);
	assert.equal(one.text(`a ${canary}-longer b ${canary}c EMPTY`), `a ${redacted} b ${redacted}c EMPTY`);
	assert.deepEqual(one.value({ [canary]: [canary, 1, null, { a: `x${canary}` }] }), {
		[redacted]: [redacted, 1, null, { a: `x${redacted}` }],
	});
	assert.equal(one.pending('so sk-CAN'), 6);
	assert.equal(one.pending('so'), 0);
	const escaped = new Redactor(['a"b\\c d/éfgh']);
	for (const text of [JSON.stringify('a"b\\c d/éfgh'), encodeURIComponent('a"b\\c d/éfgh')]) {
		assert.ok(escaped.text(text).includes(redacted), text);
	}
});
