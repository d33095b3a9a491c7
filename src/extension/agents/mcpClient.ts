import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';

/** A program that speaks the Model Context Protocol over stdin and stdout. */
export interface McpProgram {
	readonly command: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
}

const protocolVersion = '2025-06-18';
const defaultIdleMs = 600_000;

const messageSchema = v.looseObject({
	id: v.optional(v.nullable(v.number())),
	result: v.optional(v.unknown()),
	error: v.optional(v.looseObject({ message: v.string() })),
});
const resultSchema = v.looseObject({
	content: v.array(v.looseObject({ type: v.string(), text: v.optional(v.string()) })),
	isError: v.optional(v.boolean()),
});

interface Running {
	readonly child: ChildProcess;
	readonly pending: Map<number, { resolve(value: unknown): void; reject(failure: Failure): void }>;
	readonly ready: Promise<unknown>;
}

/**
 * Calls the tools of our own MCP server, which runs as a separate process, so that language models in the editor get
 * the same tool results as other clients. The server starts on the first call and exits when idle.
 */
export class McpClient extends Disposable {
	readonly #program: () => McpProgram;
	readonly #idleMs: number | null;
	#running: Running | null = null;
	#last = 0;
	#idle: NodeJS.Timeout | undefined;

	/**
	 * @param program called before each call; throws a failure if the program must not be used
	 * @param options idleMs: idle time after which the process exits, in milliseconds; null to keep it
	 */
	constructor(program: () => McpProgram, options: { readonly idleMs: number | null } = { idleMs: defaultIdleMs }) {
		super();
		this.#program = program;
		this.#idleMs = options.idleMs;
		this.register(toDisposable(() => this.#end(new Failure('cancelled', 'The window is closing.'))));
	}

	/** Calls a tool and returns its text, which is JSON. Fails with the tool's own error, or with `cancelled`. */
	async call(name: string, input: object, signal: AbortSignal): Promise<string> {
		const running = this.#start();
		clearTimeout(this.#idle);
		try {
			await running.ready;
			const answer = await this.#request(running, 'tools/call', { name, arguments: input }, signal);
			const { content, isError } = v.parse(resultSchema, answer);
			const text = content.map((block) => block.text ?? '').join('');
			if (isError) throw new Failure('invalid', text);
			return text;
		} finally {
			this.#endWhenIdle();
		}
	}

	/** Ends the process and rejects pending calls with `cancelled`. The next call starts a new one. */
	stop(why: string): void {
		this.#end(new Failure('cancelled', why, 'Try again.'));
	}

	#endWhenIdle(): void {
		if (this.#idleMs === null) return;
		this.#idle = setTimeout(() => {
			if (this.#running?.pending.size === 0) this.#end(new Failure('cancelled', 'The server was idle.'));
		}, this.#idleMs);
		this.#idle.unref();
	}

	#start(): Running {
		if (this.disposed) throw new Failure('cancelled', 'The window is closing.');
		const { command, args, env } = this.#program();
		if (this.#running !== null) return this.#running;
		const { NODE_OPTIONS: _, ...environment } = process.env;
		const child = spawn(command, args, {
			env: { ...environment, ...env },
			stdio: ['pipe', 'pipe', 'ignore'],
			windowsHide: true,
		});
		const pending: Running['pending'] = new Map();
		const end = (why: string) => {
			if (this.#running?.child === child) this.#running = null;
			for (const { reject } of pending.values()) reject(new Failure('unavailable', why, 'Try again.'));
			pending.clear();
		};
		child.once('error', (error) => end(`Cannot start the MCP server: ${error.message}.`));
		child.once('close', () => end('The MCP server has exited.'));
		child.stdin.on('error', () => undefined);
		createInterface({ input: child.stdout }).on('line', (line) => {
			const message = decode(messageSchema, parse(line));
			if (!message.ok) return;
			const { id, result, error } = message.value;
			const request = pending.get(id ?? -1);
			if (error !== undefined) request?.reject(new Failure('invalid', error.message));
			else request?.resolve(result);
		});
		const running: Running = { child, pending, ready: Promise.resolve() };
		const hello = {
			protocolVersion,
			capabilities: {},
			clientInfo: { name: 'reasoning-lab-vscode', title: 'Reasoning Lab in VS Code', version: '1' },
		};
		const ready = this.#request(running, 'initialize', hello).then(() => {
			send(child, { method: 'notifications/initialized' });
		});
		// Awaited by each call.
		ready.catch(() => undefined);
		this.#running = { ...running, ready };
		return this.#running;
	}

	#request({ child, pending }: Running, method: string, params: object, signal?: AbortSignal): Promise<unknown> {
		const id = ++this.#last;
		return new Promise((resolve, reject) => {
			const cancel = () => {
				send(child, { method: 'notifications/cancelled', params: { requestId: id } });
				settle(() => reject(new Failure('cancelled', 'Canceled.')));
			};
			const settle = (then: () => void) => {
				signal?.removeEventListener('abort', cancel);
				pending.delete(id);
				then();
			};
			pending.set(id, {
				resolve: (value) => settle(() => resolve(value)),
				reject: (failure) => settle(() => reject(failure)),
			});
			send(child, { id, method, params });
			signal?.addEventListener('abort', cancel, { once: true });
			if (signal?.aborted) cancel();
		});
	}

	#end(failure: Failure): void {
		clearTimeout(this.#idle);
		const running = this.#running;
		this.#running = null;
		if (running === null) return;
		for (const { reject } of [...running.pending.values()]) reject(failure);
		// The server exits when its input closes.
		running.child.stdin?.end();
	}
}

function send(child: ChildProcess, message: object): void {
	child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function parse(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}
