import { createHash, randomBytes } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';

/*
 * The subset of RFC 6455 needed to follow a log: receiving text from the server. Node's WebSocket cannot be used
 * because it requests compression. The proxy in Ray's dashboard forwards that request to the server behind it, but
 * cannot read the compressed responses.
 */

const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** Maximum message size in bytes. */
const largest = 64 << 20;

/** Splits data from the server into frames. */
export class FrameReader {
	#pending: Buffer = Buffer.alloc(0);

	/** Returns the frames that are now complete. Throws if the server violates the protocol. */
	push(chunk: Buffer): { readonly last: boolean; readonly opcode: number; readonly payload: Buffer }[] {
		this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
		const frames = [];
		for (;;) {
			const bytes = this.#pending;
			if (bytes.length < 2) break;
			const first = bytes[0] as number;
			const second = bytes[1] as number;
			if ((first & 0x70) !== 0) throw new Error('a frame has reserved bits set');
			if ((second & 0x80) !== 0) throw new Error('a frame from the server is masked');
			let length = second & 0x7f;
			let start = 2;
			if (length === 126) {
				if (bytes.length < 4) break;
				length = bytes.readUInt16BE(2);
				start = 4;
			} else if (length === 127) {
				if (bytes.length < 10) break;
				length = Number(bytes.readBigUInt64BE(2));
				start = 10;
			}
			if (length > largest) throw new Error(`a frame is ${length} bytes long`);
			if (bytes.length < start + length) break;
			const payload = bytes.subarray(start, start + length);
			frames.push({ last: (first & 0x80) !== 0, opcode: first & 0x0f, payload });
			this.#pending = bytes.subarray(start + length);
		}
		return frames;
	}
}

/** Builds a masked client control frame. */
function controlFrame(opcode: number, payload: Buffer): Buffer {
	const mask = randomBytes(4);
	const masked = Buffer.from(payload.subarray(0, 125));
	for (let i = 0; i < masked.length; i++) masked[i] = (masked[i] as number) ^ (mask[i % 4] as number);
	return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | masked.length]), mask, masked]);
}

export interface TextSocketOptions {
	readonly headers: Readonly<Record<string, string>>;
	readonly signal: AbortSignal;
	readonly onText: (text: string) => void;
}

/**
 * Listens until the server closes the connection or the signal aborts. Throws if the connection fails or is lost.
 * @returns false if the server responded, but not with a WebSocket
 */
export function listenToTexts(address: string, { headers, signal, onText }: TextSocketOptions): Promise<boolean> {
	const url = new URL(address);
	const key = randomBytes(16).toString('base64');
	const start = url.protocol === 'https:' ? requestHttps : requestHttp;
	return new Promise((resolve, reject) => {
		const request = start(url, {
			agent: false,
			signal,
			headers: {
				...headers,
				Connection: 'Upgrade',
				Upgrade: 'websocket',
				'Sec-WebSocket-Version': '13',
				'Sec-WebSocket-Key': key,
			},
		});
		request.on('error', reject);
		request.on('response', (response) => {
			response.resume();
			resolve(false);
		});
		request.on('upgrade', (response, socket: Socket, head: Buffer) => {
			const expected = createHash('sha1')
				.update(key + magic)
				.digest('base64');
			if (response.headers['sec-websocket-accept'] !== expected) {
				socket.destroy();
				reject(new Error('the server did not accept the WebSocket upgrade'));
				return;
			}
			signal.addEventListener('abort', () => socket.destroy(), { once: true });
			receive(socket, head, onText).then(() => resolve(true), reject);
		});
		request.end();
	});
}

function receive(socket: Socket, head: Buffer, onText: (text: string) => void): Promise<void> {
	const reader = new FrameReader();
	let message: Buffer[] = [];
	let length = 0;
	return new Promise((resolve, reject) => {
		const take = (chunk: Buffer) => {
			for (const { last, opcode, payload } of reader.push(chunk)) {
				if (opcode === opcodes.ping) socket.write(controlFrame(opcodes.pong, payload));
				else if (opcode === opcodes.close) {
					socket.end(controlFrame(opcodes.close, payload));
					resolve();
				} else if (opcode !== opcodes.pong) {
					message.push(payload);
					length += payload.length;
					if (length > largest) throw new Error(`a message exceeds ${largest} bytes`);
					if (!last) continue;
					const text = Buffer.concat(message).toString('utf8');
					message = [];
					length = 0;
					onText(text);
				}
			}
		};
		const guarded = (chunk: Buffer) => {
			try {
				take(chunk);
			} catch (error) {
				socket.destroy();
				reject(error);
			}
		};
		socket.on('data', guarded);
		socket.on('error', reject);
		socket.on('close', () => resolve());
		if (head.length > 0) guarded(head);
	});
}
