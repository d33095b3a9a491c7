import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile } from '../../files/frame.ts';
import { parseLooseJson } from '../../files/looseJson.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { decodingThread } from './decoding/decodingThread.ts';

const decoder = new TextDecoder('utf-8');
const whole = { offset: 0, length: 0, number: 1 } as const;

/** A file with a single record: JSON or YAML. */
export class WholeFile implements FrameFile {
	readonly #file: OpenedFile;
	readonly #form: 'json' | 'yaml';
	readonly #largest: number;

	constructor(file: OpenedFile, form: 'json' | 'yaml', largest: number) {
		this.#file = file;
		this.#form = form;
		this.#largest = largest;
	}

	get size(): number {
		return this.#file.size;
	}

	get modifiedMs(): number {
		return this.#file.modifiedMs;
	}

	get stamp(): string {
		return this.#file.stamp;
	}

	async *frames(_signal?: AbortSignalLike, after?: unknown): AsyncGenerator<Frame> {
		if (after === undefined) yield await this.frame();
	}

	async frame(): Promise<Frame> {
		if (this.size > this.#largest) {
			return fault(`larger than ${Math.floor(this.#largest / 2 ** 20)} MiB`);
		}
		const text = decoder.decode(await this.#file.read(0, this.size));
		if (text.trim() === '') return { ...fault('empty'), torn: true };
		if (this.#form === 'json') {
			try {
				return { ...whole, records: [parseLooseJson(text)], fault: null, torn: false };
			} catch {
				return { ...fault('invalid JSON'), torn: true };
			}
		}
		try {
			const { value } = (await decodingThread.ask({ kind: 'yaml', text }, this.size)) as { value: unknown };
			return { ...whole, records: [value], fault: null, torn: false };
		} catch (error) {
			return { ...fault(`not readable as YAML: ${(error as Error).message}`), torn: true };
		}
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}
}

function fault(message: string): Frame {
	return { ...whole, records: [], fault: message, torn: false };
}
