import process from 'node:process';
import { formatCount } from '../../base/format.ts';

/** What one batch may print, in bytes; the rest is counted and dropped, so that a print costs next to nothing. */
const printLimit = 256 * 1024;

/** `process.exit` inside a reward: it ends the call, not the host. */
export class ExitCalled extends Error {
	override readonly name = 'ExitCalled';
	constructor(code: unknown) {
		super(`process.exit(${code === undefined ? '' : String(code)}) was called`);
	}
}

/** Holds what user code prints and does to its process within bounds. */
export class Capture {
	readonly exit = process.exit.bind(process);
	#printed = 0;
	#dropped = 0;
	/** Errors that nobody caught, such as one thrown in a timer; of the batch that runs. */
	#uncaught: unknown[] = [];

	/** From here on nothing that is printed passes the limit, and `process.exit` throws. */
	install(): void {
		for (const stream of [process.stdout, process.stderr]) this.#bound(stream);
		process.exit = ((code?: unknown) => {
			throw new ExitCalled(code ?? process.exitCode);
		}) as typeof process.exit;
		const keep = (error: unknown) => {
			if (this.#uncaught.length < 10) this.#uncaught.push(error);
		};
		process.on('uncaughtException', keep);
		process.on('unhandledRejection', keep);
	}

	#bound(stream: NodeJS.WriteStream): void {
		const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
		stream.write = ((chunk: unknown, ...rest: unknown[]) => {
			const size = typeof chunk === 'string' || chunk instanceof Uint8Array ? chunk.length : 0;
			if (this.#printed + size <= printLimit) {
				this.#printed += size;
				return write(chunk, ...rest);
			}
			this.#dropped += size;
			const done = rest.find((value) => typeof value === 'function') as (() => void) | undefined;
			if (done !== undefined) process.nextTick(done);
			return true;
		}) as typeof stream.write;
	}

	/** The errors that nobody caught since the last call. */
	takeUncaught(): unknown[] {
		return this.#uncaught.splice(0);
	}

	/** A new batch has its own limit. Returns what to say about the last one. */
	next(): string[] {
		const dropped = this.#dropped;
		this.#printed = 0;
		this.#dropped = 0;
		return dropped === 0 ? [] : [`(${formatCount(dropped)} more characters were printed and dropped)`];
	}
}
