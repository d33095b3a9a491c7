import assert from 'node:assert/strict';
import { lstat, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
	createMessageConnection,
	type MessageConnection,
	SocketMessageReader,
	SocketMessageWriter,
} from 'vscode-jsonrpc/node';
import { deferred } from '../../../src/base/async.ts';
import { Failure } from '../../../src/base/failure.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';
import { ControlClient } from '../../../src/rpc/controlClient.ts';
import type { ControlLocation } from '../../../src/rpc/controlLocation.ts';
import { type ControlHandlers, ControlServer } from '../../../src/rpc/controlServer.ts';
import { initialRecord } from '../runs/runFixtures.ts';

const record: RunRecord = {
	format: 1,
	...initialRecord,
	status: 'running',
	attempt: 1,
	step: 0,
	created: 1000,
	updated: 1000,
	heartbeat: 1000,
	host: 'h',
	boot: 'b',
	pid: 1,
	processStart: '1',
};

async function locationOf(context: TestContext): Promise<ControlLocation> {
	const folder = await mkdtemp(join(tmpdir(), 'rl-rpc-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	return { socketPath: join(folder, 's.sock'), tokenPath: join(folder, 's.token') };
}

async function serve(context: TestContext, handlers: ControlHandlers = {}) {
	const location = await locationOf(context);
	const server = await ControlServer.listen({ location, run: 'run-1', serving: false, handlers });
	context.after(() => server.dispose());
	const token = await readFile(location.tokenPath, 'utf8');
	return { server, location, token };
}

async function connect(context: TestContext, location: ControlLocation, token: string): Promise<ControlClient> {
	const client = await ControlClient.connect(location.socketPath, token, 'test');
	context.after(() => client.dispose());
	return client;
}

/** Returns the number of timers that would keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

/** Opens a raw connection that may break the protocol, with a promise for its end. */
function rawConnection(
	context: TestContext,
	location: ControlLocation,
): { connection: MessageConnection; closed: Promise<void> } {
	const socket = createConnection(location.socketPath);
	context.after(() => socket.destroy());
	const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
	socket.on('error', () => undefined);
	const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
	connection.onError(() => undefined);
	connection.listen();
	return { connection, closed };
}

/**
 * Sends a request whose rejection also closes the connection. @returns the error's message, or null if the connection
 * closed before the raw client handled it, which drops the response
 */
async function notAnswered(
	{ connection, closed }: ReturnType<typeof rawConnection>,
	method: string,
	params: object,
): Promise<string | null> {
	const answer = connection.sendRequest(method, params).then(
		() => assert.fail('the request was answered'),
		(error: Error) => error.message,
	);
	const message = await Promise.race([answer, closed.then(() => null)]);
	await closed;
	return message;
}

test('requests are answered only after authentication', async (context) => {
	const { server, location, token } = await serve(context, {
		'run/setHyperparameters': async ({ learning_rate }) => ({ fromStep: (learning_rate ?? 0) * 10 }),
	});
	const client = await connect(context, location, token);
	assert.deepEqual(client.engine, {
		protocol: 1,
		run: 'run-1',
		serving: false,
		capabilities: ['run/setHyperparameters'],
	});
	assert.deepEqual(await client.request('run/setHyperparameters', { learning_rate: 0.5 }), { fromStep: 5 });
	assert.equal(server.clients, 1);
});

test('socket and token are accessible only to the user', { skip: process.platform === 'win32' }, async (context) => {
	const { location } = await serve(context);
	assert.equal((await stat(location.tokenPath)).mode & 0o777, 0o600);
	assert.equal((await lstat(location.socketPath)).mode & 0o777, 0o600);
	assert.ok((await readFile(location.tokenPath, 'utf8')).length >= 43);
});

test('run/resume, the former name of run/continue, is accepted by engines and used with older ones', async (context) => {
	const { location, token } = await serve(context, { 'run/continue': async () => record });
	const client = await connect(context, location, token);
	assert.deepEqual(client.engine.capabilities, ['run/continue', 'run/resume']);
	assert.equal((await client.request('run/continue', {})).status, record.status);

	const { connection } = rawConnection(context, location);
	await connection.sendRequest('initialize', { protocol: 1, token, client: 'older' });
	assert.equal(((await connection.sendRequest('run/resume', {})) as typeof record).id, record.id);

	const older = await locationOf(context);
	await writeFile(older.tokenPath, 'token');
	const asked: string[] = [];
	const server = createServer((socket) => {
		const engine = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
		engine.onRequest((method) => {
			asked.push(method);
			if (method !== 'initialize') return record;
			return { protocol: 1, run: 'run-1', serving: false, capabilities: ['run/pause', 'run/resume'] };
		});
		engine.listen();
	});
	await new Promise<void>((resolve) => server.listen(older.socketPath, resolve));
	context.after(() => server.close());
	const other = await connect(context, older, 'token');
	assert.equal((await other.request('run/continue', {})).id, record.id);
	assert.deepEqual(asked, ['initialize', 'run/resume']);
});

test('a wrong token is rejected and the connection is closed', async (context) => {
	const { server, location, token } = await serve(context);
	for (const wrong of ['', 'x', `${token}x`, token.slice(1), token.toUpperCase()]) {
		await assert.rejects(ControlClient.connect(location.socketPath, wrong, 'test'), { reason: 'denied' }, wrong);
	}
	const raw = rawConnection(context, location);
	await notAnswered(raw, 'initialize', { protocol: 1, token: 'x', client: 't' });
	assert.equal(server.clients, 0);
});

test('a first message other than initialize ends the connection', async (context) => {
	let reached = false;
	const { location, token } = await serve(context, {
		'run/stop': async () => {
			reached = true;
			throw new Failure('internal', 'reached');
		},
	});
	await notAnswered(rawConnection(context, location), 'run/stop', { checkpoint: false });
	const second = rawConnection(context, location);
	await second.connection.sendNotification('initialize', { protocol: 1, token, client: 't' });
	await second.closed;
	const third = createConnection(location.socketPath);
	const ended = new Promise<void>((resolve) => third.on('close', () => resolve()));
	third.on('error', () => undefined);
	third.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n{}');
	third.write('Content-Length: 5\r\n\r\nhello');
	await ended;
	assert.equal(reached, false);
});

test('invalid parameters, unknown methods and failures are returned with types', async (context) => {
	const { location, token } = await serve(context, {
		'run/stop': async () => {
			throw new Failure('full', 'The disk is full.', 'Free up some disk space.');
		},
		'run/pause': async () => {
			throw new TypeError('a bug');
		},
	});
	const client = await connect(context, location, token);
	await assert.rejects(client.request('run/stop', { checkpoint: true }), {
		name: 'Failure',
		reason: 'full',
		message: 'The disk is full.',
		action: 'Free up some disk space.',
	});
	await assert.rejects(client.request('run/stop', { checkpoint: 'yes' } as never), {
		reason: 'invalid',
		message: /run\/stop: checkpoint/,
	});
	await assert.rejects(client.request('run/pause', {}), { reason: 'internal', message: /a bug/ });
	await assert.rejects(client.request('run/checkpoint', {}), { reason: 'unsupported' });
	const { connection } = rawConnection(context, location);
	await connection.sendRequest('initialize', { protocol: 1, token, client: 't' });
	for (const method of ['constructor', '__proto__', 'initialize', 'run/fly']) {
		await assert.rejects(connection.sendRequest(method, {}), method);
	}
});

test('a malformed response is an error, not a value', async (context) => {
	const { location, token } = await serve(context, {
		'run/checkpoint': async () => ({ path: 5 }) as never,
	});
	const client = await connect(context, location, token);
	await assert.rejects(client.request('run/checkpoint', {}), {
		reason: 'invalid',
		message: /response to run\/checkpoint/,
	});
});

test('an older client is told to update, and a newer one gets the engine version', async (context) => {
	const { location, token } = await serve(context);
	const old = rawConnection(context, location);
	const message = await notAnswered(old, 'initialize', { protocol: 0, token, client: 't' });
	if (message !== null) assert.match(message, /control protocol 1, but the client only supports 0/);
	const newer = rawConnection(context, location);
	const answer = (await newer.connection.sendRequest('initialize', { protocol: 2, token, client: 't' })) as {
		protocol: number;
	};
	assert.equal(answer.protocol, 1);
});

test('several clients are notified of changes until they disconnect', async (context) => {
	const { server, location, token } = await serve(context, { 'run/checkpoint': async () => ({ path: 'p' }) });
	const clients = [await connect(context, location, token), await connect(context, location, token)];
	const heard = clients.map((client) => new Promise<void>((resolve) => client.onChanged(() => resolve())));
	server.changed();
	await Promise.all(heard);
	clients[0]?.dispose();
	while (server.clients > 1) await new Promise((resolve) => setTimeout(resolve, 5));
	assert.deepEqual(await clients[1]?.request('run/checkpoint', {}), { path: 'p' });
});

test('pending requests end with the connection, whichever side closes it', async (context) => {
	let aborted = 0;
	const never = (_: unknown, signal: AbortSignal) =>
		new Promise<never>((_resolve, reject) => {
			signal.addEventListener('abort', () => {
				aborted++;
				reject(new Failure('cancelled', 'Canceled.'));
			});
		});
	const { server, location, token } = await serve(context, { 'run/pause': never });
	const first = await connect(context, location, token);
	const pending = first.request('run/pause', {});
	first.dispose();
	await assert.rejects(pending, { reason: 'cancelled' });
	await assert.rejects(first.request('run/pause', {}), { reason: 'unavailable' });
	const second = await connect(context, location, token);
	const cancel = new AbortController();
	const canceled = second.request('run/pause', {}, cancel.signal);
	setTimeout(() => cancel.abort(), 10);
	await assert.rejects(canceled, { reason: 'cancelled' });
	const third = await connect(context, location, token);
	const lost = third.request('run/pause', {});
	let closed = false;
	third.onClosed(() => {
		closed = true;
	});
	await new Promise((resolve) => setTimeout(resolve, 10));
	const over = server.close(0);
	await assert.rejects(lost, { reason: 'unavailable' });
	assert.equal(closed, true);
	// The handlers are notified as well.
	while (aborted < 2) await new Promise((resolve) => setTimeout(resolve, 5));
	await over;
	await assert.rejects(stat(location.tokenPath));
});

test('a pending response and all earlier notifications are sent before closing', async (context) => {
	const ended = deferred<void>();
	const { server, location, token } = await serve(context, {
		'run/checkpoint': async () => {
			await ended.promise;
			return { path: 'checkpoints/step_000001' };
		},
	});
	const client = await connect(context, location, token);
	let reported = 0;
	client.onChanged(() => reported++);
	const answer = client.request('run/checkpoint', {});
	await new Promise((resolve) => setTimeout(resolve, 20));
	for (let i = 0; i < 500; i++) server.changed();
	ended.resolve();
	const closed = server.close();
	// Simulates a process that is not scheduled for a while.
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
	assert.deepEqual(await answer, { path: 'checkpoints/step_000001' });
	await closed;
	assert.ok(reported >= 500, `${reported}`);
});

test('a request that is never answered does not block closing', async (context) => {
	const { server, location, token } = await serve(context, { 'run/checkpoint': () => new Promise(() => undefined) });
	const client = await connect(context, location, token);
	const refused = assert.rejects(client.request('run/checkpoint', {}), { reason: 'unavailable' });
	await new Promise((resolve) => setTimeout(resolve, 20));
	await server.close(30);
	await refused;
});

test('a client that disconnects mid-message leaves nothing that keeps its process alive', async (context) => {
	const location = await locationOf(context);
	const engine = createServer((socket) => {
		socket.on('error', () => undefined);
		const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
		connection.onRequest('initialize', () => ({ protocol: 1, run: 'r', serving: false, capabilities: [] }));
		connection.onRequest('pipeline/stop', () => {
			setTimeout(() => socket.write('Content-Length: 90\r\n\r\n{'), 20);
			return {};
		});
		connection.listen();
	});
	context.after(() => engine.close());
	await new Promise<void>((resolve) => engine.listen(location.socketPath, resolve));
	const before = timers();
	const client = await connect(context, location, 'token');
	await client.request('pipeline/stop', {});
	await new Promise((resolve) => setTimeout(resolve, 100));
	client.dispose();
	assert.equal(timers(), before);
});

test('a request on a connection that has just closed fails without leaking', async (context) => {
	const { server, location, token } = await serve(context);
	const client = await connect(context, location, token);
	const before = timers();
	server.dispose();
	const asked: Promise<void>[] = [];
	do {
		asked.push(assert.rejects(client.request('run/status', {}), { reason: 'unavailable' }));
		await new Promise((resolve) => setImmediate(resolve));
	} while (!client.closed);
	asked.push(assert.rejects(client.request('run/status', {}), { reason: 'unavailable' }));
	await Promise.all(asked);
	assert.equal(timers(), before);
});

test('a missing server is reported as one typed failure', async (context) => {
	const location = await locationOf(context);
	await assert.rejects(ControlClient.connect(location.socketPath, 't', 'test'), { reason: 'unavailable' });
	await writeFile(location.socketPath, 'not a socket');
	await assert.rejects(ControlClient.connect(location.socketPath, 't', 'test'), { reason: 'unavailable' });
});

test('the socket of a dead engine is replaced', { skip: process.platform === 'win32' }, async (context) => {
	const location = await locationOf(context);
	await writeFile(location.socketPath, 'left behind');
	await writeFile(location.tokenPath, 'old');
	const server = await ControlServer.listen({ location, run: 'r', serving: true, handlers: {} });
	context.after(() => server.dispose());
	const client = await connect(context, location, await readFile(location.tokenPath, 'utf8'));
	await assert.rejects(client.request('run/pause', {}), { reason: 'unsupported', message: /while it serves/ });
	await assert.rejects(
		ControlServer.listen({
			location: { ...location, socketPath: join(location.socketPath, 'x') },
			run: 'r',
			serving: true,
			handlers: {},
		}),
		Failure,
	);
	await mkdir(join(location.tokenPath, '..'), { recursive: true });
});
