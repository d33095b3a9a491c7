import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { bubblewrapSandbox } from '../../../../src/rewards/sandbox/bubblewrapSandbox.ts';
import { calculatorTool } from '../../../../src/search/tools/calculatorTool.ts';
import { codeTool } from '../../../../src/search/tools/codeTool.ts';
import { openTools } from '../../../../src/search/tools/openTools.ts';
import { webTool } from '../../../../src/search/tools/webTool.ts';

const never = new AbortController().signal;
const fails = (reason: Failure['reason'], words: RegExp) => (error: unknown) => {
	assert.ok(error instanceof Failure, String(error));
	assert.deepEqual([error.reason, words.test(error.message)], [reason, true], error.message);
	return true;
};

describe('the calculator', () => {
	it('is exact', async () => {
		const { run } = calculatorTool('calculator');
		const results: Record<string, string> = {
			'2 + 2': '4',
			'0.1 + 0.2': '0.3',
			'2**100': '1267650600228229401496703205376',
			'17 % 5': '2',
			'1,234 + 1 =': '1235',
			'15% of 80': '12',
			'floor(7/2)': '3',
			'1/8': '0.125 (rounded: 0, 0.1, 0.13, 0.125, 0.1250)',
			'1/3': '1/3 ≈ 0.333333333333333 (rounded: 0, 0.3, 0.33, 0.333, 0.3333)',
			'sqrt(2)': '≈ 1.414213562373095 (rounded: 1, 1.4, 1.41, 1.414, 1.4142)',
			'sqrt(-4)': '≈ 0 + 2i',
		};
		for (const [query, value] of Object.entries(results)) {
			const [source] = (await run(query)).sources;
			assert.deepEqual(source, { source: `calculator: ${query}`, title: null, text: `${query} = ${value}` });
		}
	});

	it('reports what it cannot calculate without spending time on it', async () => {
		const { run } = calculatorTool('calculator');
		for (const query of [
			'',
			'hello',
			'x + 1',
			'1/0',
			'9^9^9',
			'(('.repeat(200),
			'1'.repeat(600),
			'process.exit()',
			'2^2^2^2^2^2',
		]) {
			await assert.rejects(run(query), fails('invalid', /./), query);
		}
	});
});

describe('code in the sandbox', () => {
	it('is rejected if there is no sandbox', async () => {
		const none = codeTool(
			'code',
			{ use: 'code', language: 'python', timeoutSeconds: 5 },
			{ REASONING_LAB_SANDBOX: 'container:no-such-image' },
			never,
		);
		await assert.rejects(
			none.run('print(1)'),
			fails('unsupported', /^Model-written code is not run without a sandbox/),
		);
		const wrong = openTools([{ use: 'code', language: 'python', timeoutSeconds: 5 }], {
			environment: { REASONING_LAB_SANDBOX: 'magic' },
		});
		await assert.rejects(wrong, fails('invalid', /Unknown sandbox "magic"/));
	});

	it('returns its output, and failures as errors', async (t) => {
		const missing = await bubblewrapSandbox().then(
			(sandbox) => sandbox.missing('python'),
			(error: Failure) => error.message,
		);
		if (missing !== null) return t.skip(missing);
		const tool = codeTool('code', { use: 'code', language: 'python', timeoutSeconds: 5 }, {}, never);
		const [source] = (await tool.run('```python\nprint(sum(range(10)))\n```')).sources;
		assert.deepEqual([source?.text, source?.title], ['45', 'print(sum(range(10)))']);
		assert.match(source?.source ?? '', /^code:[\da-f]{8}$/);
		await assert.rejects(
			tool.run('print(1)\nraise ValueError("no")'),
			fails('invalid', /failed: ValueError: no\. Before that it printed: 1/),
		);
		await assert.rejects(tool.run('x = 1'), fails('invalid', /printed nothing/));
		await assert.rejects(tool.run('open("/etc/shadow")'), fails('invalid', /The program failed/));
		await assert.rejects(tool.run('print("x" * 10_000_000)'), fails('invalid', /exceeded the output limit/));
		const cancel = new AbortController();
		const running = codeTool('code', { use: 'code', language: 'python', timeoutSeconds: 60 }, {}, cancel.signal).run(
			'while True: pass',
		);
		cancel.abort();
		await assert.rejects(running, fails('cancelled', /./));
	});
});

describe('web search', () => {
	interface Asked {
		readonly method: string;
		readonly url: string;
		readonly key: string | undefined;
		readonly body: string;
	}

	async function server(t: TestContext, reply: (request: Asked, response: ServerResponse) => void) {
		const asked: Asked[] = [];
		const http = createServer(async (request: IncomingMessage, response) => {
			let body = '';
			for await (const part of request) body += part;
			const { method = '', url = '', headers } = request;
			const one = { method, url, key: headers.authorization, body };
			asked.push(one);
			reply(one, response);
		});
		await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
		t.after(() => http.close());
		t.after(() => http.closeAllConnections());
		return { asked, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
	}
	const web = (url: string, key: string | null = null, signal = never) =>
		webTool('web', { use: 'web', url, timeoutSeconds: 5 }, key === null ? {} : { [new URL(url).origin]: key }, signal);

	it('sends POST or GET with the key for that server, and reads the common field names', async (t) => {
		const { asked, origin } = await server(t, (_, response) => {
			response.end(
				JSON.stringify({
					results: [
						{ url: 'https://a.example/1', title: 'One', content: 'first' },
						{ link: 'http://b.example', name: 'Two', snippet: 'x'.repeat(9000) },
						{ url: 'javascript:alert(1)', content: 'bad' },
						{ url: 'https://c.example' },
						'noise',
						null,
					],
				}),
			);
		});
		const { sources } = await web(`${origin}/search`, 'secret').run('  group reward ');
		assert.deepEqual(
			sources.map(({ source, title, text }) => [source, title, text.length]),
			[
				['https://a.example/1', 'One', 5],
				['http://b.example', 'Two', 2000],
			],
		);
		const others = { 'https://elsewhere.example': 'other' };
		const url = `${origin}/find?q={query}&format=json`;
		await webTool('web', { use: 'web', url, timeoutSeconds: 5 }, others, never).run('a&b c/d');
		assert.deepEqual(asked, [
			{ method: 'POST', url: '/search', key: 'Bearer secret', body: '{"query":"group reward","max_results":6}' },
			{ method: 'GET', url: '/find?q=a%26b%20c%2Fd&format=json', key: undefined, body: '' },
		]);
	});

	it('follows no redirects, reads no endless replies, and reports what went wrong', async (t) => {
		const { asked, origin } = await server(t, ({ url }, response) => {
			if (url === '/redirect') response.writeHead(302, { location: '/found' }).end();
			else if (url === '/denied') response.writeHead(401).end();
			else if (url === '/busy') response.writeHead(503).end();
			else if (url === '/large') response.end(`{"results": "${'x'.repeat(5 << 20)}"}`);
			else if (url === '/empty') response.end('{"results": []}');
			else response.end(url === '/text' ? 'Hello' : '{"answer": 5}');
		});
		const fault = (path: string, reason: Failure['reason'], words: RegExp) =>
			assert.rejects(web(`${origin}${path}`, 'secret').run('x'), fails(reason, words), path);
		await fault('/redirect', 'invalid', /./);
		await fault('/denied', 'denied', /./);
		await fault('/busy', 'unavailable', /./);
		await fault('/large', 'invalid', /exceeds \d+ bytes/);
		await fault('/text', 'invalid', /is not valid JSON/);
		await fault('/other', 'invalid', /contains no list of results/);
		assert.equal(
			asked.some(({ url }) => url === '/found'),
			false,
		);
		assert.deepEqual(await web(`${origin}/empty`).run('x'), { sources: [], note: 'No results found.' });
		await assert.rejects(web(`${origin}/empty`).run(' '), fails('invalid', /The search query is empty/));
		await assert.rejects(web(`${origin}/empty`, null, AbortSignal.abort()).run('x'), fails('cancelled', /./));
	});

	it('is not opened without an address, and other tools are not opened without a source', async () => {
		const spec = { use: 'web', timeoutSeconds: 5 } as const;
		for (const url of ['file:///etc/passwd', 'search', 'https://user:secret@host/']) {
			await assert.rejects(openTools([{ ...spec, url }]), fails('invalid', /URL/), url);
		}
		await assert.rejects(openTools([{ use: 'dataset', file: '/none' }]), fails('missing', /\/none does not exist/));
		await assert.rejects(openTools([{ use: 'workspace', folder: '/none' }]), fails('missing', /\/none does not exist/));
		const folder = { use: 'workspace', folder: tmpdir() } as const;
		const names = (await openTools([folder, folder, { use: 'calculator' }]))
			.bind({ signal: never })
			.map(({ name }) => name);
		assert.deepEqual(names, ['workspace', 'workspace2', 'calculator']);
	});
});
