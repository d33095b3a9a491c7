import type { OpenedFile } from '../../files/openedFile.ts';
import type { ColumnarFormat, DecodedFile as Decoded, DecodedForm, TableShape } from './decoding/decodingMessages.ts';
import { decodingThread } from './decoding/decodingThread.ts';

let keys = 0;

/** Rows of a Parquet or Arrow file, or of a list that torch.save wrote, decoded in chunks by the decoding thread. */
export class DecodedFile {
	readonly #file: OpenedFile;
	readonly #decoded: Decoded;
	#shape: Promise<TableShape> | null = null;

	constructor(file: OpenedFile, form: ColumnarFormat | DecodedForm) {
		this.#file = file;
		this.#decoded = {
			...(typeof form === 'string' ? { format: form } : form),
			key: ++keys,
			descriptor: file.descriptor,
			size: file.size,
		};
	}

	get file(): OpenedFile {
		return this.#file;
	}

	/** Fails with an Error whose message is a sentence fragment. */
	shape(): Promise<TableShape> {
		this.#shape ??= decodingThread.ask({ kind: 'shape', file: this.#decoded }, this.#file.size) as Promise<TableShape>;
		return this.#shape;
	}

	/**
	 * Returns rows `from` to `to` (exclusive), all from one group; fewer if they are large. Fails with an Error whose
	 * message is a sentence fragment.
	 */
	async rows(from: number, to: number): Promise<readonly unknown[]> {
		const rows = await decodingThread.ask({ kind: 'rows', file: this.#decoded, from, to }, this.#file.size);
		return rows as readonly unknown[];
	}
}
