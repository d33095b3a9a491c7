import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { themes } from '../unit/webview/vscodeThemes.ts';

/*
 * Runs a webview app in a plain browser, driven by a separate process like an extension host. Each message from the
 * host is sent once over a socket, with typed arrays as raw bytes.
 */

export interface HostPage {
	/** URL of the page. */
	readonly url: string;
	/** Resolves once the message has been sent. */
	post(message: unknown): Promise<void>;
	close(): void;
}

export interface HostPageOptions {
	readonly script: string;
	readonly style: string;
	/** Called when the page is requested, which is when a panel would be created. */
	readonly onOpen: () => void;
	/** Receives messages from the app. */
	readonly onMessage: (message: unknown) => void;
	/** Returns the response to GET /stats. */
	readonly stats: () => unknown;
}

/** Replaces `acquireVsCodeApi`. Runs in the page. */
function webviewApi(): void {
	let saved: unknown;
	Object.assign(window, {
		acquireVsCodeApi: () => ({
			postMessage: (message: unknown) => void fetch('/message', { method: 'POST', body: JSON.stringify(message) }),
			getState: () => saved,
			setState: (state: unknown) => {
				saved = state;
			},
		}),
	});
	const kinds = { Float64Array, Int32Array, Uint16Array, Uint8Array };
	const listen = async (): Promise<void> => {
		const reader = ((await fetch('/stream')).body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
		let have = new Uint8Array(0);
		let room: Uint8Array<ArrayBuffer>[] = [];
		let length = 0;
		const need = async (bytes: number): Promise<boolean> => {
			while (length < bytes) {
				const { value, done } = await reader.read();
				if (done) return false;
				room.push(value);
				length += value.length;
			}
			if (room.length > 1) {
				have = new Uint8Array(length);
				let at = 0;
				for (const part of room) {
					have.set(part, at);
					at += part.length;
				}
				room = [have];
			} else have = room[0] ?? have;
			return true;
		};
		const take = (bytes: number): Uint8Array<ArrayBuffer> => {
			const taken = have.subarray(0, bytes);
			have = have.subarray(bytes);
			room = [have];
			length -= bytes;
			return taken;
		};
		while (await need(8)) {
			const head = take(8);
			const view = new DataView(head.buffer, head.byteOffset);
			const [textLength, dataLength] = [view.getUint32(0, true), view.getUint32(4, true)];
			if (!(await need(textLength + dataLength))) return;
			const text = new TextDecoder().decode(take(textLength));
			const data = take(dataLength).slice().buffer;
			const message = JSON.parse(text, (_key, value) => {
				const kind = value?.$kind as keyof typeof kinds | undefined;
				return kind ? new kinds[kind](data.slice(value.at, value.at + value.bytes)) : value;
			});
			window.postMessage(message, '*');
		}
	};
	void listen();
}

function frameOf(message: unknown): Buffer {
	const parts: Uint8Array[] = [];
	let at = 0;
	const text = Buffer.from(
		JSON.stringify(message, (_key, value) => {
			if (!ArrayBuffer.isView(value)) return value;
			const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
			parts.push(bytes);
			at += bytes.length;
			return { $kind: value.constructor.name, at: at - bytes.length, bytes: bytes.length };
		}),
	);
	const head = Buffer.alloc(8);
	head.writeUInt32LE(text.length, 0);
	head.writeUInt32LE(at, 4);
	return Buffer.concat([head, text, ...parts]);
}

function pageOf(): string {
	const { kind, variables } = themes.dark;
	const style = Object.entries(variables)
		.filter(([, value]) => value !== '')
		.map(([name, value]) => `--vscode-${name}: ${value}`)
		.join('; ')
		.replaceAll('"', '&quot;');
	return `<!DOCTYPE html><html lang="en" style="${style}"><head><meta charset="utf-8"><title>bench</title>
<link rel="stylesheet" href="/app.css"></head><body class="${kind}" data-vscode-theme-kind="${kind}">
<div id="app"></div><script>(${webviewApi})()</script><script type="module" src="/app.js"></script></body></html>`;
}

export async function serveHostPage(options: HostPageOptions): Promise<HostPage> {
	let stream: ServerResponse | null = null;
	const waiting: Buffer[] = [];
	const body = async (request: IncomingMessage): Promise<string> => {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		return Buffer.concat(chunks).toString();
	};
	const files: Readonly<Record<string, readonly [string, string]>> = {
		'/app.js': [options.script, 'text/javascript'],
		'/app.css': [options.style, 'text/css'],
	};
	const server: Server = createServer(async (request, response) => {
		const path = request.url ?? '/';
		const file = files[path];
		if (path === '/') {
			options.onOpen();
			response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(pageOf());
		} else if (file) response.writeHead(200, { 'content-type': `${file[1]}; charset=utf-8` }).end(file[0]);
		else if (path === '/stream') {
			stream = response;
			response.writeHead(200, { 'content-type': 'application/octet-stream' });
			response.flushHeaders();
			for (const frame of waiting.splice(0)) response.write(frame);
		} else if (path === '/message') {
			options.onMessage(JSON.parse(await body(request)));
			response.end();
		} else if (path === '/stats') response.end(JSON.stringify(options.stats()));
		else response.writeHead(404).end();
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		post: async (message) => {
			const frame = frameOf(message);
			if (!stream) waiting.push(frame);
			else if (!stream.write(frame)) await new Promise((resolve) => stream?.once('drain', resolve));
		},
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}
