import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Failure } from '../../../../../src/base/failure.ts';
import { clusterAddress, clusterHeaders, clusterOf } from '../../../../../src/engines/driver/ray/clusterAddress.ts';
import { JobLog } from '../../../../../src/engines/driver/ray/jobLog.ts';
import { JobsApi } from '../../../../../src/engines/driver/ray/jobsApi.ts';
import { FrameReader } from '../../../../../src/engines/driver/ray/textSocket.ts';
import { zipArchive } from '../../../../../src/engines/driver/ray/zipArchive.ts';
import { temporaryFolder } from '../../../runs/runFixtures.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(context: TestContext, answer: Answer) {
	const server = createServer(answer);
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	context.after(() => {
		server.closeAllConnections();
		server.close();
	});
	const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return { server, address, api: new JobsApi({ address, headers: { Authorization: 'Bearer secret' } }) };
}

test('requests do not look like browser requests and send the token only to the configured address', async (context) => {
	const seen: IncomingMessage['headers'][] = [];
	const { api } = await serve(context, (request, response) => {
		seen.push(request.headers);
		response.end(JSON.stringify({ ray_version: '2.58.1' }));
	});
	assert.equal(await api.version(), '2.58.1');
	const [headers] = seen;
	assert.equal(headers?.authorization, 'Bearer secret');
	// Ray's dashboard rejects POST requests with any of these headers.
	for (const name of ['sec-fetch-mode', 'origin', 'referer']) assert.equal(headers?.[name], undefined);
});

test('the error suggests how to start a cluster only if none is listening on this machine', async (context) => {
	const { server, address, api } = await serve(context, (_, response) => response.end());
	server.close();
	const { port } = new URL(address);
	await assert.rejects(api.version(), (error: Failure) => {
		assert.match(error.message, /connection refused/);
		assert.match(error.action ?? '', new RegExp(`"ray start --head --dashboard-port=${port}" .*pip install "ray`));
		return true;
	});
	const { api: broken } = await serve(context, (_, response) => response.destroy());
	await assert.rejects(broken.version(), (error: Failure) => !/ray start/.test(error.action ?? ''));
});

test('each failure is one sentence with an action', async (context) => {
	let away = 0;
	const other = await serve(context, (_, response) => {
		away++;
		response.end('{}');
	});
	const cases: [Answer, string, RegExp][] = [
		[(_, r) => r.writeHead(302, { Location: other.address }).end(), 'denied', /redirects/],
		[(_, r) => r.writeHead(401).end('Unauthorized: Missing authentication token'), 'denied', /Missing authentication/],
		[(_, r) => r.writeHead(404).end('nothing'), 'unsupported', /no Jobs API/],
		[
			(_, r) => r.writeHead(500).end('Traceback\n  x\nRuntimeError: no agent\n'),
			'unavailable',
			/RuntimeError: no agent/,
		],
		[(_, r) => r.end('<html>'), 'unavailable', /not JSON/],
		[(_, r) => r.end('{"version": 1}'), 'version', /Jobs API/],
		[(_, r) => r.destroy(), 'unavailable', /: connection lost/],
	];
	for (const [answer, reason, words] of cases) {
		const { api } = await serve(context, answer);
		await assert.rejects(api.version(), (error: { reason: string; message: string; action?: string }) => {
			assert.equal(error.reason, reason);
			assert.match(error.message, words);
			assert.ok(error.action, 'an action');
			return true;
		});
	}
	assert.equal(away, 0);
	const gone = new JobsApi({ address: 'http://127.0.0.1:9', headers: {} });
	await assert.rejects(gone.version(), /connection refused/);
	const { api } = await serve(context, (_, r) => r.writeHead(404).end('Job x does not exist'));
	assert.equal(await api.job('x'), null);
	assert.equal(await api.stop('x'), false);
	assert.equal(await api.hasPackage('y.zip'), false);
	const stopped = new AbortController();
	stopped.abort();
	await assert.rejects(api.version(stopped.signal), { reason: 'cancelled' });
});

test('a job is submitted again until the cluster has an agent, but not after other errors', async (context) => {
	const request = { entrypoint: 'x', submission_id: 'a', runtime_env: {}, metadata: {} };
	let requests = 0;
	const starting = await serve(context, (_, response) => {
		requests++;
		if (requests === 1) response.writeHead(500).end('No available agent to submit job, please try again later.');
		else response.end(JSON.stringify({ submission_id: 'a' }));
	});
	await starting.api.submit(request);
	assert.equal(requests, 2);
	let failures = 0;
	const broken = await serve(context, (_, response) => {
		failures++;
		response.writeHead(500).end('RuntimeError: disk full');
	});
	await assert.rejects(broken.api.submit(request), /disk full/);
	assert.equal(failures, 1);
	const { api } = await serve(context, (_, response) => response.writeHead(500).end('No available agent'));
	await assert.rejects(api.submit(request, AbortSignal.timeout(100)), { reason: 'cancelled' });
});

test('only dashboard addresses are accepted', () => {
	assert.equal(clusterAddress('http://head:8265/', {}), 'http://head:8265');
	assert.equal(clusterAddress(null, { RAY_ADDRESS: 'https://head/ray/' }), 'https://head/ray');
	for (const [address, words] of [
		['127.0.0.1:6379', /host and port/],
		['ray://head:10001', /Ray client/],
		['auto', /dashboard/],
		['ftp://head', /not an HTTP address/],
		['http://me:secret@head:8265', /RAY_AUTH_TOKEN/],
	] as const) {
		assert.throws(() => clusterAddress(null, { RAY_ADDRESS: address }), words);
	}
	assert.throws(() => clusterAddress(null, {}), { reason: 'missing' });
});

test('tokens are found in the same locations as in Ray', async (context) => {
	const path = join(await temporaryFolder(context), 'token');
	await writeFile(path, 'from a file\n');
	assert.deepEqual(await clusterHeaders({}), {});
	assert.deepEqual(await clusterHeaders({ RAY_AUTH_TOKEN: 'x' }), { Authorization: 'Bearer x' });
	assert.deepEqual(await clusterHeaders({ RAY_AUTH_TOKEN_PATH: path }), { Authorization: 'Bearer from a file' });
	const own = '{"authorization": "Basic y", "X-Team": "a"}';
	assert.deepEqual(await clusterHeaders({ RAY_AUTH_TOKEN: 'x', RAY_JOB_HEADERS: own }), {
		authorization: 'Basic y',
		'X-Team': 'a',
	});
	await assert.rejects(clusterHeaders({ RAY_JOB_HEADERS: '[' }), { reason: 'invalid' });
});

test('credentials from the environment are sent only to the cluster that the environment names', async (context) => {
	const canary = 'CANARY-ray-token';
	const secrets = { RAY_AUTH_TOKEN: canary, RAY_JOB_HEADERS: JSON.stringify({ 'X-Key': canary }) };
	const heard: string[] = [];
	const { address } = await serve(context, (request, response) => {
		heard.push(JSON.stringify(request.headers));
		response.writeHead(401).end(`who are you, ${request.headers.authorization}?`);
	});
	for (const RAY_ADDRESS of [undefined, '', 'http://head:8265', 'ray://head:10001', 'https://127.0.0.1:1']) {
		const cluster = await clusterOf(address, { ...secrets, ...(RAY_ADDRESS === undefined ? {} : { RAY_ADDRESS }) });
		await assert.rejects(new JobsApi(cluster).version(), (error: { action: string }) => {
			assert.match(error.action, /set RAY_ADDRESS=http:/);
			return true;
		});
	}
	assert.equal(heard.length, 5);
	assert.ok(heard.every((headers) => !headers.includes(canary)));
	for (const fromRecipe of [address, null]) {
		const cluster = await clusterOf(fromRecipe, { ...secrets, RAY_ADDRESS: `${address}/` });
		// The error must not echo the credentials.
		await assert.rejects(new JobsApi(cluster).version(), { message: /who are you, (Bearer )?\[redacted\]/ });
	}
	assert.ok(heard.slice(5).every((headers) => headers.includes(canary)));
});

test('a package is a standard ZIP and identical for identical files', async (context) => {
	const entries = [
		{ path: 'b/later.txt', bytes: Buffer.from('later '.repeat(1000)) },
		{ path: 'a.py', bytes: Buffer.from('print("ä")\n') },
		{ path: 'empty', bytes: Buffer.alloc(0) },
	];
	const bytes = await zipArchive(entries);
	assert.ok(bytes.equals(await zipArchive([...entries].reverse())));
	const path = join(await temporaryFolder(context), 'x.zip');
	await writeFile(path, bytes);
	const script =
		'import sys,zipfile,hashlib\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nfor n in sorted(z.namelist()): print(n, hashlib.sha256(z.read(n)).hexdigest())';
	const { stdout, stderr } = spawnSync('python3', ['-c', script, path], { encoding: 'utf8' });
	const expected = [...entries]
		.sort((a, b) => (a.path < b.path ? -1 : 1))
		.map((entry) => `${entry.path} ${createHash('sha256').update(entry.bytes).digest('hex')}`);
	assert.deepEqual(stdout.trim().split('\n'), expected, stderr);
});

test('each log line is delivered once, even when connections break', async (context) => {
	let turn = 0;
	const log = ['one', 'two', 'three', 'four'];
	const { server, address } = await serve(context, (request, response) => {
		if (request.url?.endsWith('/tail')) {
			response.writeHead(500).end();
			return;
		}
		turn++;
		if (turn === 2) response.destroy();
		else response.end(JSON.stringify({ logs: `${log.slice(0, turn + 1).join('\n')}\n` }));
	});
	const reported: string[] = [];
	const end = new AbortController();
	const follower = new JobLog(
		new JobsApi({ address, headers: {} }),
		'job',
		async (line) => {
			reported.push(line);
			if (reported.length === log.length) end.abort();
		},
		{ pollMs: 5 },
	);
	await follower.follow(end.signal);
	assert.deepEqual(reported, log);
	assert.ok(server.listening);
});

test('WebSocket messages may arrive in arbitrary fragments', async (context) => {
	const { server, address } = await serve(context, (_, response) => response.writeHead(404).end());
	server.on('upgrade', (request, socket) => {
		const accept = createHash('sha1')
			.update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
			.digest('base64');
		const frame = (head: number, text: string) => {
			const payload = Buffer.from(text);
			const length =
				payload.length < 126
					? Buffer.from([payload.length])
					: Buffer.from([126, payload.length >> 8, payload.length & 255]);
			return Buffer.concat([Buffer.from([head]), length, payload]);
		};
		const all = Buffer.concat([
			frame(0x81, 'first\nsec'),
			frame(0x01, 'ond\nthi'),
			frame(0x89, 'ping'),
			frame(0x80, `rd\n${'x'.repeat(500)}\n`),
			frame(0x88, ''),
		]);
		socket.write(
			`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
		);
		for (let i = 0; i < all.length; i += 7) socket.write(all.subarray(i, i + 7));
		// Without a reader the socket would not notice that the client has disconnected.
		socket.on('end', () => socket.end()).resume();
	});
	const reported: string[] = [];
	const end = new AbortController();
	const follower = new JobLog(new JobsApi({ address, headers: {} }), 'job', async (line) => {
		reported.push(line);
		if (reported.length === 4) end.abort();
	});
	await follower.follow(end.signal);
	assert.deepEqual(reported, ['first', 'second', 'third', 'x'.repeat(500)]);
	for (const bytes of [
		Buffer.from([0xc1, 0]),
		Buffer.from([0x81, 0x80]),
		Buffer.from([0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]),
	]) {
		assert.throws(() => new FrameReader().push(bytes));
	}
});

test('a process that exits immediately still ends its job', async (context) => {
	const folder = await temporaryFolder(context);
	// The request blocks this process, so the server needs a separate one.
	const server = spawn(
		process.execPath,
		[
			'-e',
			`require('node:http').createServer((q, r) => { require('node:fs').writeFileSync(process.argv[1], q.method + ' ' + q.url + ' ' + q.headers.authorization); r.end('{"stopped": true}'); }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`,
			join(folder, 'asked'),
		],
		{ stdio: ['ignore', 'pipe', 'inherit'] },
	);
	context.after(() => server.kill('SIGKILL'));
	const [port] = (await once(server.stdout, 'data')) as [Buffer];
	const api = new JobsApi({
		address: `http://127.0.0.1:${port.toString().trim()}`,
		headers: { Authorization: 'Bearer secret' },
	});
	api.stopBeforeExit('run-1');
	assert.equal(await readFile(join(folder, 'asked'), 'utf8'), 'POST /api/jobs/run-1/stop Bearer secret');
});
