import { type ChildProcess, spawn } from 'node:child_process';

interface Message {
	readonly seq: number;
	readonly type: 'request' | 'response' | 'event';
	readonly command?: string;
	readonly event?: string;
	readonly request_seq?: number;
	readonly success?: boolean;
	readonly message?: string;
	// biome-ignore lint/suspicious/noExplicitAny: only tests inspect messages from a debug adapter.
	readonly body?: any;
}

/** A Debug Adapter Protocol client that talks to a debug adapter over standard streams, like an editor. */
export class DapClient {
	readonly #adapter: ChildProcess;
	readonly #waiting = new Map<number, (message: Message) => void>();
	readonly #events: Message[] = [];
	readonly #listeners = new Set<() => void>();
	#seq = 0;
	#buffer = Buffer.alloc(0);

	constructor(command: string, args: readonly string[]) {
		this.#adapter = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
		this.#adapter.stdout?.on('data', (data: Buffer) => this.#read(data));
	}

	/** Resolves with the response body; rejects if the adapter reports a failure. */
	// biome-ignore lint/suspicious/noExplicitAny: see Message.body.
	request(command: string, args: object = {}): Promise<any> {
		const seq = ++this.#seq;
		const text = JSON.stringify({ seq, type: 'request', command, arguments: args });
		this.#adapter.stdin?.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
		return new Promise((resolve, reject) => {
			this.#waiting.set(seq, (message) => {
				if (message.success) resolve(message.body);
				else reject(new Error(`${command}: ${message.message ?? JSON.stringify(message.body)}`));
			});
		});
	}

	/** Returns the next unconsumed event with that name. */
	// biome-ignore lint/suspicious/noExplicitAny: see Message.body.
	async event(name: string, seconds = 30): Promise<any> {
		const end = Date.now() + seconds * 1000;
		for (;;) {
			const at = this.#events.findIndex((message) => message.event === name);
			if (at >= 0) return this.#events.splice(at, 1)[0]?.body;
			const left = end - Date.now();
			if (left <= 0) throw new Error(`No event "${name}" in ${seconds} s`);
			await new Promise<void>((resolve) => {
				const timer = setTimeout(done, left);
				const listeners = this.#listeners;
				function done() {
					clearTimeout(timer);
					listeners.delete(done);
					resolve();
				}
				listeners.add(done);
			});
		}
	}

	dispose(): void {
		this.#adapter.kill('SIGKILL');
	}

	#read(data: Buffer): void {
		this.#buffer = Buffer.concat([this.#buffer, data]);
		for (;;) {
			const end = this.#buffer.indexOf('\r\n\r\n');
			if (end < 0) return;
			const length = Number(/Content-Length: (\d+)/i.exec(this.#buffer.toString('latin1', 0, end))?.[1]);
			if (this.#buffer.length < end + 4 + length) return;
			const message = JSON.parse(this.#buffer.toString('utf8', end + 4, end + 4 + length)) as Message;
			this.#buffer = this.#buffer.subarray(end + 4 + length);
			if (message.type === 'response') {
				const wait = this.#waiting.get(message.request_seq as number);
				this.#waiting.delete(message.request_seq as number);
				wait?.(message);
			} else if (message.type === 'event') {
				this.#events.push(message);
				for (const listener of [...this.#listeners]) listener();
			}
		}
	}
}
