import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { longestLine } from '../../runs/jsonLines.ts';
import { runFiles, stepName } from '../../runs/runFiles.ts';
import { openRegular } from '../../runs/safeFile.ts';
import type { LinePlace } from './rolloutsIndex.ts';

/** Largest rollouts file that is opened, in bytes. */
const largestFile = 4 * 2 ** 30;
const chunkBytes = 1 << 20;
const newline = 0x0a;

/** A line and where it lies; `bytes` is null where it is longer than what is read. */
export interface PlacedLine {
	readonly bytes: Uint8Array | null;
	/** From 1. */
	readonly number: number;
	readonly start: number;
}

/** One step's rollouts, opened for reading. What is in it is hostile: sizes are checked, links are not followed. */
export class RolloutsFile {
	readonly #handle: FileHandle;
	readonly size: number;
	/** Changes when the file is replaced or grows. */
	readonly identity: string;

	private constructor(handle: FileHandle, stat: BigIntStats) {
		this.#handle = handle;
		this.size = Number(stat.size);
		this.identity = `${stat.dev}-${stat.ino}-${stat.size}-${stat.mtimeNs}`;
	}

	/** Fails with `missing` when the step has no file (never had, or it was pruned), `unsupported` when it is too large. */
	static async open(run: string, step: number): Promise<RolloutsFile> {
		const relative = `${runFiles.rollouts}/${stepName(step)}.jsonl`;
		const handle = await openRegular(run, relative).catch((error: unknown) => {
			const failure = Failure.from(error);
			if (failure.reason !== 'missing') throw failure;
			throw new Failure(
				'missing',
				`The rollouts of step ${step} are not there (${relative}).`,
				'They were pruned or moved; choose another step.',
				{ cause: error },
			);
		});
		const file = new RolloutsFile(handle, await handle.stat({ bigint: true }));
		if (file.size <= largestFile) return file;
		await file.close();
		throw new Failure(
			'unsupported',
			`${relative} has ${(file.size / 2 ** 30).toFixed(1)} GiB, more than the 4 GiB that are opened.`,
			'Split the file, or log fewer rollouts a step.',
		);
	}

	close(): Promise<void> {
		return this.#handle.close();
	}

	/** All lines in order; other work gets its turn between them. */
	async *lines(signal?: AbortSignalLike): AsyncGenerator<PlacedLine> {
		let parts: Uint8Array[] = [];
		let length = 0;
		let start = 0;
		let number = 1;
		let turn = performance.now();
		for (let position = 0; position < this.size; ) {
			const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, this.size - position));
			const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, position);
			if (bytesRead === 0) break;
			const chunk = buffer.subarray(0, bytesRead);
			let from = 0;
			for (;;) {
				const feed = chunk.indexOf(newline, from);
				const part = chunk.subarray(from, feed === -1 ? chunk.length : feed);
				length += part.length;
				if (length <= longestLine) parts.push(part);
				else parts = [];
				if (feed === -1) break;
				yield { bytes: length <= longestLine ? join(parts) : null, number, start };
				from = feed + 1;
				start = position + from;
				number++;
				parts = [];
				length = 0;
				if (performance.now() - turn < 4) continue;
				checkAborted(signal);
				await new Promise((resolve) => setImmediate(resolve));
				turn = performance.now();
			}
			position += bytesRead;
			checkAborted(signal);
		}
		if (length > 0) yield { bytes: length <= longestLine ? join(parts) : null, number, start };
	}

	/** One line by its place. */
	async line({ start, end }: LinePlace): Promise<Uint8Array> {
		const buffer = Buffer.allocUnsafe(end - start);
		let filled = 0;
		while (filled < buffer.length) {
			const { bytesRead } = await this.#handle.read(buffer, filled, buffer.length - filled, start + filled);
			if (bytesRead === 0) break;
			filled += bytesRead;
		}
		return buffer.subarray(0, filled);
	}
}

function join(parts: readonly Uint8Array[]): Uint8Array {
	return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
