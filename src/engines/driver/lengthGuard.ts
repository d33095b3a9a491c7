import { Transform, type TransformCallback } from 'node:stream';
import { Failure } from '../../base/failure.ts';

/** Maximum size of a header in bytes. Headers have one or two lines. */
const longestHeader = 8192;
const headerEnd = Buffer.from('\r\n\r\n');

/**
 * Passes through messages with Content-Length framing. Fails on any other input, or on a message that is too long,
 * without buffering it.
 */
export class LengthGuard extends Transform {
	readonly #longest: number;
	/** Start of an incomplete header. */
	#header: Buffer = Buffer.alloc(0);
	/** Number of bytes left in the current body. */
	#body = 0;

	/** @param longest maximum body size in bytes */
	constructor(longest: number) {
		super();
		this.#longest = longest;
	}

	override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
		try {
			this.#read(chunk);
		} catch (error) {
			done(error as Error);
			return;
		}
		done(null, chunk);
	}

	#read(chunk: Buffer): void {
		let at = 0;
		while (at < chunk.length) {
			const skipped = Math.min(this.#body, chunk.length - at);
			this.#body -= skipped;
			at += skipped;
			if (at === chunk.length) return;
			const before = this.#header.length;
			this.#header = Buffer.concat([this.#header, chunk.subarray(at, at + longestHeader + headerEnd.length)]);
			const end = this.#header.indexOf(headerEnd);
			if (end < 0) {
				if (this.#header.length > longestHeader) throw new Failure('corrupt', 'The trainer sent an invalid message.');
				return;
			}
			this.#body = this.#lengthIn(this.#header.subarray(0, end).toString('latin1'));
			at += end + headerEnd.length - before;
			this.#header = Buffer.alloc(0);
		}
	}

	#lengthIn(header: string): number {
		const length = Number(/^content-length: *(\d{1,15}) *$/im.exec(header)?.[1] ?? Number.NaN);
		if (Number.isNaN(length))
			throw new Failure('corrupt', 'The trainer sent a message without a Content-Length header.');
		if (length <= this.#longest) return length;
		throw new Failure(
			'unsupported',
			`The trainer sent a message of ${length} bytes, which exceeds the limit of ${this.#longest}.`,
			'Set "log": {"tokens": false} in the recipe, or reduce the generation batch size.',
		);
	}
}
