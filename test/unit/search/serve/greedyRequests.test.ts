import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createReasoner } from '../../../../src/search/createReasoner.ts';
import { serveReasoner } from '../../../../src/search/serve/reasonerServer.ts';
import { contextFor, folderFor, scriptIn, specOf } from '../searchFixtures.ts';

/** Starts a server whose policy responds instantly, so a search that never yields blocks the whole process. */
async function start(context: Parameters<typeof folderFor>[0], budget: object = {}, limits: object = {}) {
	const folder = await folderFor(context);
	const rules = [{ say: Array.from({ length: 50 }, (_, i) => `<think>${i}</think><answer>x+${i}</answer>`) }];
	const file = await scriptIn(folder, { name: 'adder', rules });
	const reasoner = await createReasoner({
		spec: specOf({ policy: { kind: 'scripted', file }, strategy: 'self-consistency', budget }),
		context: contextFor(context, folder),
	});
	const server = await serveReasoner({ reasoner, port: 0, token: null, limits });
	context.after(async () => {
		await server.close(0);
		reasoner.dispose();
	});
	const ask = async (search: object, more: object = {}) => {
		const response = await fetch(`${server.url}/chat/completions`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ messages: [{ role: 'user', content: '?' }], search, ...more }),
		});
		return { status: response.status, body: await response.json() };
	};
	return { server, ask };
}

test('one request cannot monopolize the server: it ends at the time limit, and others are answered in the meantime', async (context) => {
	const { server, ask } = await start(context, { seconds: 1 });
	let over = false;
	const greedy = ask({ params: { n: 100_000 } }).finally(() => {
		over = true;
	});
	assert.equal((await fetch(`${server.url}/models`)).status, 200);
	assert.equal((await ask({ params: { n: 1 } })).body.choices[0].search.stop, 'complete');
	assert.equal(over, false, 'the large request is still running');
	const { status, body } = await greedy;
	assert.equal(status, 200);
	assert.equal(body.choices[0].search.stop, 'seconds');
	assert.match(body.choices[0].message.content, /x\+/);
});

test('parameters that multiply the work have limits, and the error names them', async (context) => {
	const { ask } = await start(context);
	for (const [search, more, field] of [
		[{ params: { n: 1e9 } }, {}, /n must be at most 100000/],
		[{}, { n: 1e9 }, /^n:/],
		[{}, { max_tokens: 1e15 }, /^max_tokens:/],
		[{}, { max_completion_tokens: 1e15 }, /^max_completion_tokens:/],
	] as const) {
		const { status, body } = await ask(search, more);
		assert.equal(status, 400);
		assert.match(body.error.message, field);
	}
});

test('a request that trickles in byte by byte ends at the limits rather than at the next connection check', async (context) => {
	const { server } = await start(context, {}, { headersMs: 200, requestMs: 400 });
	// By default, Node checks connections every 30 seconds, and this test would take that long.
	for (const head of ['POST /v1/chat/completions HTTP/1.1\r\n', post(server.port)]) {
		const socket = connect(server.port, '127.0.0.1');
		let said = '';
		socket.setEncoding('utf8').on('data', (text: string) => {
			said += text;
		});
		socket.on('error', () => undefined);
		socket.write(head);
		await new Promise((resolve) => socket.once('close', resolve));
		assert.match(said, /^HTTP\/1\.1 408 /);
	}
});

const post = (port: number) =>
	`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{`;
