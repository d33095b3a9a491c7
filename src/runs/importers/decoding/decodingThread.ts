import { Worker } from 'node:worker_threads';
import type { DecodingAnswer, DecodingRequest, DecodingResult } from './decodingMessages.ts';

/** Base time limit per request; files written by trainers decode in a fraction of a second. */
const baseMs = 4000;
const bytesPerMs = 4096;
/** Idle time before the thread exits. */
const idleMs = 20_000;
const heapMb = 384;

interface Waiting {
	readonly request: DecodingRequest;
	readonly limitMs: number;
	resolve(result: DecodingResult): void;
	reject(error: Error): void;
}

/**
 * Sends requests to a worker thread one at a time. A request that takes too long or too much memory fails, and the next
 * one gets a new thread.
 */
class DecodingThread {
	#worker: Worker | null = null;
	#current: (Waiting & { readonly id: number; timer: NodeJS.Timeout | null }) | null = null;
	readonly #queue: Waiting[] = [];
	#ids = 0;
	#idle: NodeJS.Timeout | null = null;

	/** @param bytes size of the requested file, which determines the time limit */
	ask(request: DecodingRequest, bytes: number): Promise<DecodingResult> {
		return new Promise((resolve, reject) => {
			this.#queue.push({ request, limitMs: baseMs + bytes / bytesPerMs, resolve, reject });
			this.#next();
		});
	}

	#next(): void {
		if (this.#current !== null) return;
		const next = this.#queue.shift();
		if (next === undefined) {
			this.#worker?.unref();
			this.#idle ??= setTimeout(() => this.#end(), idleMs).unref();
			return;
		}
		if (this.#idle !== null) clearTimeout(this.#idle);
		this.#idle = null;
		const id = ++this.#ids;
		this.#current = { ...next, id, timer: null };
		try {
			this.#worker ??= this.#start();
		} catch (error) {
			this.#settle((waiting) => waiting.reject(error as Error));
			return;
		}
		this.#worker.ref();
		this.#worker.postMessage({ id, request: next.request });
		this.#time();
	}

	#start(): Worker {
		const script = import.meta.url.endsWith('.ts') ? './decodingWorker.ts' : './decodingWorker.js';
		const worker = new Worker(new URL(script, import.meta.url), {
			name: 'decoding',
			resourceLimits: { maxOldGenerationSizeMb: heapMb },
			// The thread's output is discarded.
			stdout: true,
			stderr: true,
		});
		worker.on('message', (answer: DecodingAnswer) => this.#take(answer));
		worker.on('error', (error) => this.#lose(worker, error.message));
		worker.on('exit', () => this.#lose(worker, 'the decoding thread exited'));
		this.#starting = true;
		worker.once('online', () => {
			this.#starting = false;
			this.#time();
		});
		return worker;
	}

	#starting = false;

	/** The time limit starts once the thread is ready to work on the request. */
	#time(): void {
		const current = this.#current;
		if (current === null || current.timer !== null || this.#starting) return;
		current.timer = setTimeout(() => {
			const seconds = (current.limitMs / 1000).toFixed(1);
			this.#end();
			this.#settle((waiting) => waiting.reject(new Error(`it takes longer than ${seconds} s to decode`)));
		}, current.limitMs);
	}

	#take(answer: DecodingAnswer): void {
		if (this.#current?.id !== answer.id) return;
		this.#settle((waiting) => {
			if ('fault' in answer) waiting.reject(new Error(answer.fault));
			else waiting.resolve(answer.result);
		});
	}

	#lose(worker: Worker, why: string): void {
		if (this.#worker !== worker) return;
		this.#worker = null;
		this.#starting = false;
		if (this.#current !== null) this.#settle((waiting) => waiting.reject(new Error(why)));
	}

	#settle(how: (waiting: Waiting) => void): void {
		const current = this.#current;
		this.#current = null;
		if (current === null) return;
		if (current.timer !== null) clearTimeout(current.timer);
		how(current);
		this.#next();
	}

	#end(): void {
		const worker = this.#worker;
		this.#worker = null;
		this.#starting = false;
		void worker?.terminate();
	}
}

/** The decoding thread of this process. */
export const decodingThread = new DecodingThread();
