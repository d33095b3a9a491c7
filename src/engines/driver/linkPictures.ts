import { Failure } from '../../base/failure.ts';
import type { RolloutBlock } from '../../protocol/trainerLink.ts';
import { checkPicture } from '../../runs/pictureFile.ts';
import { contract } from './trainerServer.ts';

/** Maximum total size of the pictures that an engine writes to a run, in bytes. */
const largestTotal = 2_000_000_000;

/** Rollout pictures received from the trainer, each written to the run only once. */
export class LinkPictures {
	readonly #write: (file: string, content: Uint8Array) => Promise<void>;
	readonly #onFull: () => void;
	#total = 0;
	#full = false;

	/** @param onFull called once, when the size limit is exceeded */
	constructor(write: (file: string, content: Uint8Array) => Promise<void>, onFull: () => void) {
		this.#write = write;
		this.#onFull = onFull;
	}

	/**
	 * Starts writing the pictures in blocks of rollouts, and resolves when they are written. Fails with a protocol
	 * violation or a disk error.
	 */
	async add(blocks: readonly RolloutBlock[]): Promise<void> {
		const files = blocks.flatMap(({ pictures }) => pictures ?? []).map(checked);
		const kept = files.filter(({ content }) => {
			this.#total += content.length;
			return this.#total <= largestTotal;
		});
		if (kept.length < files.length && !this.#full) {
			this.#full = true;
			this.#onFull();
		}
		await Promise.all(kept.map(({ file, content }) => this.#write(file, content)));
	}
}

/** Decodes a picture. Fails with a protocol violation if the content does not match the file name. */
function checked({ file, content: base64 }: { readonly file: string; readonly content: string }) {
	const content = Buffer.from(base64, 'base64');
	try {
		checkPicture(file, content);
	} catch (error) {
		throw contract(Failure.from(error));
	}
	return { file, content };
}
