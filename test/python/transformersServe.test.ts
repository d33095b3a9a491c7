import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Failure } from '../../src/base/failure.ts';
import type { GenerateRequest, Generation } from '../../src/core/search/policy.ts';
import type { GeneratedText, PolicyContext } from '../../src/policies/openedPolicy.ts';
import { openPolicy } from '../../src/policies/openPolicy.ts';
import { probePolicy } from '../../src/policies/probePolicy.ts';
import type { PolicySpecOf } from '../../src/protocol/policySpec.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { type PythonProcess, runPython, startPython } from '../support/loadedPython.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

const never = new AbortController().signal;
const context: PolicyContext = { engine: '', client: 'test', folder: '/' };

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	return port;
}

/** Starts `transformers serve`, a third-party server, with a model trained to count. */
async function serve(folder: string): Promise<{ server: PythonProcess; baseUrl: string }> {
	await runPython({ python, script: join(root, 'test/python/counting_model.py'), args: [folder] });
	const port = await freePort();
	const args = ['serve', folder, '--host', '127.0.0.1', '--port', String(port), '--device', 'cpu'];
	const server = await startPython({ python, script: { module: 'transformers.cli.transformers' }, args });
	let ended = false;
	const over = () => {
		ended = true;
	};
	server.exit.then(over, over);
	for (const end = Date.now() + 240_000; ; ) {
		const healthy = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
		if (healthy?.ok) return { server, baseUrl: `http://127.0.0.1:${port}/v1` };
		if (ended || Date.now() > end) {
			const output = await server.output();
			await server.end();
			throw new Error(`transformers serve does not respond:\n${output.slice(-4000)}`);
		}
		await new Promise((resolve) => setTimeout(resolve, 200));
	}
}

function ask(more: Partial<GenerateRequest>): GenerateRequest {
	return {
		messages: [{ role: 'user', content: 'Count.' }],
		prefix: '',
		n: 1,
		temperature: 0,
		topP: 1,
		maxTokens: 40,
		stop: [],
		seed: 3,
		tokens: 0,
		...more,
	};
}

const numbers = (from: number, to: number) =>
	Array.from({ length: to - from + 1 }, (_, i) => `${from + i === 1 ? '' : ' '}${from + i}`).join('');

describe("Transformers' own server as a policy", { skip }, () => {
	let folder: string;
	let server: PythonProcess | null = null;
	let spec: PolicySpecOf<'openai'>;

	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'serve-'));
		const model = join(folder, 'model');
		const served = await serve(model);
		server = served.server;
		spec = { kind: 'openai', name: 'counter', baseUrl: served.baseUrl, model, api: 'chat', retries: 1 };
	});
	after(async () => {
		await server?.end();
		await rm(folder, { recursive: true, force: true });
	});

	async function generate(api: 'chat' | 'completions', ...requests: GenerateRequest[]): Promise<Generation[][]> {
		const policy = await openPolicy({ ...spec, api }, context);
		const made = await policy.bind({ signal: never }).generate(requests);
		policy.dispose();
		return made.map((one) => {
			assert.ok(!(one instanceof Failure), String(one));
			return [...one];
		});
	}

	test('is detected as supporting streaming and, for completions only, prefix continuation', async () => {
		const chat = await probePolicy(spec, context);
		assert.equal(chat.sample, numbers(1, 30));
		assert.deepEqual(
			[chat.capabilities.instructions, chat.capabilities.prefix, chat.capabilities.logprobs],
			[true, false, false],
		);
		assert.ok(chat.notes.some((note) => /cannot continue from a prefix/.test(note)));
		assert.ok(!chat.notes.some((note) => /does not stream/.test(note)));
		const completions = await probePolicy({ ...spec, api: 'completions' }, context);
		assert.deepEqual([completions.capabilities.instructions, completions.capabilities.prefix], [false, true]);
	});

	test('chats and streams partial responses', async () => {
		const policy = await openPolicy(spec, context);
		const heard: GeneratedText[] = [];
		const [made] = await policy.bind({ signal: never, onText: (text) => heard.push(text) }).generate([ask({})]);
		assert.ok(made !== undefined && !(made instanceof Failure), String(made));
		const [one] = made;
		assert.deepEqual([one?.text, one?.finish, one?.tokens], [numbers(1, 30), 'end', 31]);
		assert.ok((one?.promptTokens ?? 0) >= 9);
		assert.ok(heard.length > 5, String(heard.length));
		assert.equal(heard.map(({ text }) => text).join(''), numbers(1, 30));
		policy.dispose();
	});

	test('stops at the length limit and at a stop string, even with several requests at once', async () => {
		const [cut, stopped, several] = await generate(
			'chat',
			ask({ maxTokens: 5 }),
			ask({ stop: [' 7'] }),
			ask({ n: 3, temperature: 1, maxTokens: 3 }),
		);
		assert.deepEqual([cut?.[0]?.text, cut?.[0]?.finish], [numbers(1, 5), 'length']);
		assert.deepEqual([stopped?.[0]?.text, stopped?.[0]?.finish, stopped?.[0]?.stopText], [numbers(1, 6), 'stop', ' 7']);
		assert.equal(several?.length, 3);
	});

	test('completes from any prefix', async () => {
		const [on, stopped] = await generate(
			'completions',
			ask({ prefix: numbers(1, 12) }),
			ask({ prefix: numbers(1, 12), stop: [' 15'] }),
		);
		assert.deepEqual([on?.[0]?.text, on?.[0]?.finish], [numbers(13, 30), 'end']);
		assert.deepEqual([stopped?.[0]?.text, stopped?.[0]?.stopText], [numbers(13, 14), ' 15']);
	});

	test('reports an error for another model', async () => {
		await assert.rejects(
			openPolicy({ ...spec, model: 'another' }, context),
			(error: Failure) => error.reason === 'invalid' && /pinned to/.test(error.message) && error.action !== undefined,
		);
	});
});
