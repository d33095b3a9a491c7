import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { objects, Workplace } from './cliFixtures.ts';

const script = [
	{ name: 'adder' },
	{ prompt: '1+1=', say: '<think>1 and 1.</think><answer>2</answer>' },
	{ prompt: 'slow', say: '<think>Slowly.</think><answer>3</answer>', delayMs: 600_000 },
];

async function place(context: TestContext): Promise<Workplace> {
	const made = await Workplace.make(context);
	await made.write('adder.jsonl', script.map((line) => JSON.stringify(line)).join('\n'));
	return made;
}

const policy = ['--policy', 'adder.jsonl', '--strategy', 'self-consistency', '--param', 'n=3'];

describe('reasoning-lab serve', { timeout: 180_000 }, () => {
	test('prints its address, answers the OpenAI client, and cancels running requests on SIGTERM', async (context) => {
		const { process: child, ended } = (await place(context)).start(
			context,
			'serve',
			...policy,
			'--port',
			'0',
			'--grace',
			'0',
			'--json',
		);
		const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
		const [first] = (await once(lines, 'line')) as [string];
		const listening = JSON.parse(first) as {
			kind: string;
			url: string;
			token: string;
			model: string;
			strategies: string[];
		};
		assert.equal(listening.kind, 'listening');
		assert.match(listening.url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/);
		assert.ok(listening.strategies.includes('self-consistency'));
		const client = new OpenAI({ apiKey: listening.token, baseURL: listening.url, maxRetries: 0 });
		const ask = (content: string) =>
			client.chat.completions.create({ model: listening.model, messages: [{ role: 'user', content }] });
		assert.equal((await ask('1+1=')).choices[0]?.message.content, '2');
		// A stream that has started is still in progress.
		const slow = await client.chat.completions.create({
			model: listening.model,
			messages: [{ role: 'user', content: 'slow' }],
			stream: true,
		});
		child.kill('SIGTERM');
		const stops: unknown[] = [];
		for await (const { choices } of slow) {
			for (const choice of choices) stops.push((choice as unknown as { search?: { stop: string } }).search?.stop);
		}
		assert.equal(stops.at(-1), 'stopped');
		const { status, stdout, stderr } = await ended;
		assert.equal(status, 0, stderr);
		const requests = objects(stdout).filter(({ kind }) => kind === 'request');
		assert.equal(requests.length, 2);
		assert.ok(!stdout.slice(first.length).includes(listening.token), 'the token is printed only once');
	});

	test('rejects invalid options before it listens', async (context) => {
		const work = await place(context);
		await work.write('short.txt', 'abc\n');
		const refused: [string[], RegExp][] = [
			[['--policy', 'adder.jsonl', '--strategy', 'best-of-n'], /best-of-n needs a scorer/],
			[[...policy, '--token', 'long-enough', '--no-token'], /cannot be combined/],
			[[...policy, '--token-file', 'short.txt'], /too short/],
			[[...policy, '--token-file', 'none.txt'], /none\.txt/],
			[[...policy, '--token-file', 'short.txt', '--no-token'], /cannot be combined with/],
		];
		for (const [args, message] of refused) {
			const { status, stderr, stdout } = await work.call('serve', ...args);
			assert.equal(status, 2, stdout + stderr);
			assert.match(stderr, message);
			assert.equal(stdout, '');
		}
	});
});
