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

	/** Writes the pictures in blocks of rollouts. Fails with the trainer's fault, or because of the disk. */
	async add(blocks: readonly RolloutBlock[]): Promise<void> {
		for (const { file, content: base64 } of blocks.flatMap(({ pictures }) => pictures ?? [])) {
			const content = Buffer.from(base64, 'base64');
			try {
				checkPicture(file, content);
			} catch (error) {
				throw contract(Failure.from(error));
			}
			this.#total += content.length;
			if (this.#total <= largestTotal) await this.#write(file, content);
			else if (!this.#full) {
				this.#full = true;
				this.#onFull();
			}
		}
	}
}
