import process from 'node:process';
import { formatCount } from '../../base/format.ts';

/** Maximum number of bytes that a batch can print. Further output is counted and dropped, so excess output is cheap. */
const printLimit = 256 * 1024;

/** Thrown when a reward calls `process.exit`. It ends the call, but not the host. */
export class ExitCalled extends Error {
	override readonly name = 'ExitCalled';
	constructor(code: unknown) {
		super(`process.exit(${code === undefined ? '' : String(code)}) was called`);
	}
}

/** Limits what user code can print and do to its process. */
export class Capture {
	readonly exit = process.exit.bind(process);
	#printed = 0;
	#dropped = 0;
	/** Uncaught errors in the current batch, such as errors thrown in a timer. */
	#uncaught: unknown[] = [];

	/** Starts enforcing the print limit, and makes `process.exit` throw. */
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

	/** Returns the errors that have gone uncaught since the last call. */
	takeUncaught(): unknown[] {
		return this.#uncaught.splice(0);
	}

	/** Starts a new batch with a fresh limit. Returns messages about the previous batch. */
	next(): string[] {
		const dropped = this.#dropped;
		this.#printed = 0;
		this.#dropped = 0;
		return dropped === 0 ? [] : [`(${formatCount(dropped)} more characters were printed and dropped)`];
	}
}
