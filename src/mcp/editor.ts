import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { readJson } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { answerEnding, type EditorRequest, editorAnswerSchema, requestEnding } from '../protocol/editorRequest.ts';

/** Timeout for the window's response, and polling interval, in milliseconds. */
const [patienceMs, lookMs] = [10_000, 50] as const;

/** Editor window that started this server. Communicates through files in its folder. */
export class Editor {
	readonly #folder: string;

	constructor(folder: string) {
		this.#folder = folder;
	}

	/** Asks the window to show something. Fails with the window's reason, with `unavailable`, or with `cancelled`. */
	async show(request: EditorRequest, signal: AbortSignal): Promise<void> {
		const id = randomBytes(16).toString('hex');
		const asked = join(this.#folder, `${id}${requestEnding}`);
		const answer = `${id}${answerEnding}`;
		try {
			await writeFileAtomic(asked, JSON.stringify(request));
			for (const end = Date.now() + patienceMs; Date.now() < end; ) {
				if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
				const found = await readJson(this.#folder, answer).catch(() => null);
				if (found !== null) {
					const { failure } = decodeOrThrow(editorAnswerSchema, found, "The editor's answer");
					if (failure === null) return;
					throw new Failure('invalid', failure);
				}
				await new Promise((resolve) => setTimeout(resolve, lookMs));
			}
			throw new Failure(
				'unavailable',
				'The editor did not respond. It may be waiting for the user.',
				'Give the user the address instead.',
			);
		} finally {
			for (const path of [asked, join(this.#folder, answer)]) await rm(path, { force: true }).catch(() => undefined);
		}
	}
}
