import { rm, stat, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { Sequencer } from '../../../base/async.ts';
import { AppendFile } from '../../../files/appendFile.ts';
import { ensureFolder, writeFileAtomic } from '../../../files/atomicFile.ts';
import { runFiles } from '../../../runs/runFiles.ts';
import type { LogFrame } from './logFrames.ts';

const decompress = promisify(inflate);
/** Maximum size in bytes of a file that is transferred as a whole. */
const largestFile = 1 << 30;

/**
 * A run folder reconstructed from a job log when the cluster storage is not accessible from this machine. Rereading a
 * log from the start is harmless.
 */
export class ShadowFolder {
	readonly folder: string;
	readonly #queue = new Sequencer();
	readonly #growing = new Map<string, { readonly file: AppendFile; size: number }>();
	readonly #parts = new Map<string, (Buffer | undefined)[]>();

	constructor(folder: string) {
		this.folder = folder;
	}

	/** Throws on disk errors. */
	apply(frame: LogFrame): Promise<void> {
		return this.#queue.queue(async () => {
			switch (frame.k) {
				case 'record':
					await ensureFolder(this.folder);
					return writeFileAtomic(join(this.folder, runFiles.record), frame.text);
				case 'lines':
					return this.#append(frame.file, frame.at, Buffer.from(frame.text, 'utf8'));
				case 'reset':
					return this.#reset();
				case 'file':
					return this.#part(frame);
				case 'gone':
					return rm(join(this.folder, frame.path), { force: true });
				default:
					return;
			}
		});
	}

	async close(): Promise<void> {
		await this.#queue.queue(async () => {
			for (const { file } of this.#growing.values()) await file.close();
			this.#growing.clear();
		});
	}

	async #append(name: string, at: number, bytes: Buffer): Promise<void> {
		const path = join(this.folder, name);
		let growing = this.#growing.get(name);
		if (growing === undefined) {
			await ensureFolder(dirname(path));
			const size = (await stat(path).catch(() => null))?.size ?? 0;
			growing = { file: new AppendFile(path), size };
			this.#growing.set(name, growing);
		}
		// Either the data was already received, or an earlier part is missing, in which case the log is reread.
		if (at > growing.size || at + bytes.length <= growing.size) return;
		const fresh = bytes.subarray(growing.size - at);
		await growing.file.append(fresh.toString('utf8'));
		growing.size += fresh.length;
	}

	async #reset(): Promise<void> {
		for (const [name, { file }] of this.#growing) {
			await file.close();
			await truncate(join(this.folder, name), 0);
		}
		this.#growing.clear();
	}

	async #part({ path, part, parts, data }: Extract<LogFrame, { k: 'file' }>): Promise<void> {
		const collected = part === 0 ? [] : (this.#parts.get(path) ?? []);
		collected[part] = Buffer.from(data, 'base64');
		this.#parts.set(path, collected);
		if (part !== parts - 1) return;
		this.#parts.delete(path);
		const missing = Array.from({ length: parts }, (_, i) => collected[i]).includes(undefined);
		if (missing) return;
		const bytes = await decompress(Buffer.concat(collected as Buffer[]), { maxOutputLength: largestFile });
		await ensureFolder(dirname(join(this.folder, path)));
		await writeFileAtomic(join(this.folder, path), bytes);
	}
}
