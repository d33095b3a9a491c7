/** Tests the MCP server over HTTP as a separate process: with the official client, and with requests it never sends. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeMcpFolder, mcpEnvironment } from '../../support/mcpFolder.ts';
import { builtProgram } from '../../support/programs.ts';

const program = builtProgram('dist/cli.js');
const token = 'token-of-the-test';
let folder = '';
let server: ChildProcess;
let port = 0;

function start(...args: string[]): ChildProcess {
	const work = join(folder, 'work');
	return spawn(process.execPath, [program, 'mcp', '--folder', work, '--http', '--json', ...args], {
		env: { ...mcpEnvironment(folder), REASONING_LAB_TOKEN: token },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
}

before(async () => {
	folder = await makeMcpFolder();
	server = start('--port', '0');
	const [line] = (await once(createInterface({ input: server.stdout as NodeJS.ReadableStream }), 'line')) as [string];
	const listening = JSON.parse(line) as { url: string; port: number; token: unknown };
	assert.equal(listening.token, null, 'a token that the user supplied must not be printed');
	({ port } = listening);
	assert.equal(listening.url, `http://127.0.0.1:${port}/mcp`);
});

after(async () => {
	const ended = once(server, 'close');
	server.kill('SIGTERM');
	const [code] = await ended;
	await rm(folder, { recursive: true, force: true });
	assert.equal(code, 0);
});

async function connect(): Promise<Client> {
	const client = new Client({ name: 'test', version: '1' });
	const requestInit = { headers: { Authorization: `Bearer ${token}` } };
	await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit }));
	return client;
}

const accepted = {
	authorization: `Bearer ${token}`,
	'content-type': 'application/json',
	accept: 'application/json, text/event-stream',
};
const listing = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

/** Sends a request with any headers, including those that `fetch` does not allow. */
async function send(headers: Record<string, string>, { path = '/mcp', body = listing } = {}) {
	const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers });
	sent.on('error', () => undefined);
	sent.end(body);
	const [response] = await once(sent, 'response');
	let text = '';
	for await (const chunk of response.setEncoding('utf8')) text += chunk;
	const { statusCode, headers: answered } = response as { statusCode: number; headers: IncomingHttpHeaders };
	return { status: statusCode, text, headers: answered };
}

describe('MCP server over HTTP', () => {
	it('serves several clients at once, each with its own answers', async () => {
		const clients = await Promise.all([connect(), connect()]);
		const runs = ['sums', 'trl'] as const;
		const described = await Promise.all(
			[0, 1, 2, 3].map((i) => clients[i % 2]?.callTool({ name: 'describe_run', arguments: { run: runs[i % 2] } })),
		);
		assert.deepEqual(
			described.map((result) => (result?.structuredContent as { run?: string } | undefined)?.run),
			['sums', 'trl', 'sums', 'trl'],
		);
		await clients[0]?.close();
		const { tools } = (await clients[1]?.listTools()) ?? { tools: [] };
		assert.ok(tools.length > 10, 'the other client must keep its server');
		await clients[1]?.close();
	});

	it('reports the progress of a call to the client that made it', async () => {
		const client = await connect();
		const progress: (string | undefined)[] = [];
		const query = { sql: 'select count(*) from rollouts', runs: ['sums'] };
		await client.callTool({ name: 'query', arguments: query }, { onprogress: ({ message }) => progress.push(message) });
		assert.equal(progress[0], 'Indexing 1 of 1 run (0%)');
		await client.close();
	});

	it('accepts the token and rejects requests without it', async () => {
		const good = await send(accepted);
		assert.equal(good.status, 200);
		assert.match(good.text, /"list_runs"/);
		const { authorization: _, ...none } = accepted;
		const wrong = [{}, { authorization: 'Bearer wrong-token' }, { authorization: token }, { authorization: 'Bearer ' }];
		for (const headers of wrong) {
			const { status, text, headers: answered } = await send({ ...none, ...headers });
			assert.equal(status, 401, JSON.stringify(headers));
			assert.equal(answered['www-authenticate'], 'Bearer');
			assert.match(text, /token/);
			assert.doesNotMatch(text, new RegExp(`list_runs|${token}`));
		}
	});

	it('rejects requests from other sites and to names that resolve to this machine, even with the token', async () => {
		for (const headers of [
			{ origin: 'https://example.com' },
			{ origin: 'null' },
			{ origin: `https://127.0.0.1:${port}` },
			{ host: 'example.com' },
			{ host: `attacker.test:${port}` },
			{ host: '127.0.0.1:1' },
		]) {
			const { status, text } = await send({ ...accepted, ...headers });
			assert.equal(status, 403, JSON.stringify(headers));
			assert.doesNotMatch(text, /list_runs/);
		}
		assert.equal((await send({ ...accepted, origin: `http://127.0.0.1:${port}` })).status, 200);
	});

	it('rejects other paths, other content and bodies that are too large', async () => {
		assert.equal((await send(accepted, { path: '/' })).status, 404);
		assert.ok([400, 415].includes((await send({ ...accepted, 'content-type': 'text/plain' })).status));
		assert.equal((await send(accepted, { body: '{"jsonrpc"' })).status, 400);
		const large = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { x: 'a'.repeat(2 << 20) } });
		assert.equal((await send(accepted, { body: large })).status, 413);
	});

	it('reports a port that is in use', async () => {
		const second = start('--port', String(port));
		let said = '';
		second.stderr?.setEncoding('utf8').on('data', (text) => {
			said += text;
		});
		const [code] = await once(second, 'close');
		assert.equal(code, 2);
		assert.match(said, new RegExp(`Port ${port} is in use`));
	});
});
