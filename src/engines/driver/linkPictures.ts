import { Failure } from '../../base/failure.ts';
import type { RolloutBlock } from '../../protocol/trainerLink.ts';
import { checkPicture } from '../../runs/pictureFile.ts';
import { contract } from './trainerServer.ts';

/** Maximum size of all pictures that an engine writes to a run, in bytes. */
const largestTotal = 2_000_000_000;

/** Pictures of rollouts, received from the trainer and written to the run once each. */
export class LinkPictures {
	readonly #write: (file: string, content: Uint8Array) => Promise<void>;
	readonly #onFull: () => void;
	#total = 0;
	#full = false;

	/** @param onFull called once, when no more pictures are written */
	constructor(write: (file: string, content: Uint8Array) => Promise<void>, onFull: () => void) {
		this.#write = write;
		this.#onFull = onFull;
	}

	/**
	 * Starts writing the pictures in blocks of rollouts, and resolves when they are written. Fails with the trainer's
	 * fault, or because of the disk.
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

/** Decodes a picture. Fails with the trainer's fault if it is not what its name says. */
function checked({ file, content: base64 }: { readonly file: string; readonly content: string }) {
	const content = Buffer.from(base64, 'base64');
	try {
		checkPicture(file, content);
	} catch (error) {
		throw contract(Failure.from(error));
	}
	return { file, content };
}
