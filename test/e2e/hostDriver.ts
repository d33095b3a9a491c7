/**
 * Runs test functions inside a workbench's extension host, next to the extension under test. In suites that the editor
 * itself runs there (test/integration), every workspace is trusted; here, a workspace can be in Restricted Mode.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type * as vscode from 'vscode';

interface Answer {
	readonly id: number;
	readonly value?: unknown;
	readonly error?: string;
}

export class HostDriver {
	/** Folder of an extension to pass to `ServerOptions.extensions`. */
	readonly folder: string;
	readonly #place = mkdtempSync(join(tmpdir(), 'rl-d'));
	readonly #server: Server;
	readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
	#host = Promise.withResolvers<Socket>();
	#asked = 0;

	constructor() {
		const path = join(this.#place, 's');
		this.folder = join(this.#place, 'host-driver');
		mkdirSync(this.folder);
		writeFileSync(
			join(this.folder, 'package.json'),
			JSON.stringify({
				...{ name: 'host-driver', publisher: 'reasoning-lab-test', version: '1.0.0', main: './main.js' },
				engines: { vscode: '^1.90.0' },
				activationEvents: ['*'],
				extensionKind: ['workspace'],
				capabilities: { untrustedWorkspaces: { supported: true } },
			}),
		);
		writeFileSync(
			join(this.folder, 'main.js'),
			`exports.activate = () => (${answerOnSocket})(${JSON.stringify(path)})`,
		);
		// Use the newest host: reloading a window starts another one.
		this.#server = createServer((socket) => {
			socket.on('error', () => undefined);
			socket.once('close', () => this.#lose('The extension host has disconnected'));
			createInterface(socket).on('line', (line) => this.#take(JSON.parse(line)));
			this.#host.resolve(socket);
			this.#host = { ...Promise.withResolvers(), promise: Promise.resolve(socket) };
		}).listen(path);
	}

	/** Calls `body` in the host, where it can only access its argument. Arguments and results are sent as JSON. */
	async run<A, T>(body: (api: typeof vscode, argument: A) => T | Promise<T>, argument?: A): Promise<T> {
		const host = await this.#host.promise;
		const id = ++this.#asked;
		const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
		host.write(`${JSON.stringify({ id, body: String(body), argument })}\n`);
		return (await answer) as T;
	}

	dispose(): void {
		this.#lose('The test has ended');
		void this.#host.promise.then((socket) => socket.destroy());
		this.#server.close();
		rmSync(this.#place, { recursive: true, force: true });
	}

	#take({ id, value, error }: Answer): void {
		const waiting = this.#waiting.get(id);
		this.#waiting.delete(id);
		if (error === undefined) waiting?.resolve(value);
		else waiting?.reject(new Error(error));
	}

	#lose(why: string): void {
		for (const { reject } of this.#waiting.values()) reject(new Error(why));
		this.#waiting.clear();
	}
}

/** Source of the extension: runs whatever it receives. Only this function's source is written to the file. */
function answerOnSocket(path: string): void {
	const { createConnection } = process.getBuiltinModule('node:net');
	const { createInterface } = process.getBuiltinModule('node:readline');
	const { runInThisContext } = process.getBuiltinModule('node:vm');
	const api = require('vscode');
	const socket = createConnection(path);
	socket.on('error', () => undefined);
	createInterface(socket).on('line', async (line) => {
		const { id, body, argument } = JSON.parse(line);
		let answer: object;
		try {
			answer = { id, value: await runInThisContext(`(${body})`)(api, argument) };
		} catch (error) {
			answer = { id, error: String((error as Error)?.stack ?? error) };
		}
		socket.write(`${JSON.stringify(answer)}\n`);
	});
}
