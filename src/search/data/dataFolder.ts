import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { FileLock } from '../../files/fileLock.ts';
import { formatLine, LineSplitter, parseLine } from '../../files/jsonLines.ts';
import { openRegular, openToAppend, readJson } from '../../files/safeFile.ts';
import {
	type DataExport,
	type DataProgress,
	type DataSpec,
	dataFileSchema,
	dataFormat,
	dataProgressSchema,
} from '../../protocol/dataSpec.ts';
import { decode, decodeOrThrow } from '../../protocol/decode.ts';
import type { TreeEvent } from '../../protocol/treeLog.ts';

export const dataFiles = { data: 'data.json', progress: 'progress.jsonl', trees: 'trees', lock: '.lock' } as const;
export const exportFile = (kind: DataExport): string => `${kind}.jsonl`;

/** Result for one problem. */
export interface ProblemData {
	readonly key: string;
	readonly stop: string;
	readonly tokens: number;
	/** Values to write as lines, keyed by export. */
	readonly lines: ReadonlyMap<DataExport, readonly unknown[]>;
}

export interface DataTotals {
	problems: number;
	tokens: number;
	/** Number of lines and bytes for each export. */
	readonly lines: Record<string, number>;
	readonly bytes: Record<string, number>;
}

/** Removes settings that only affect speed and storage, keeping those that affect the data. */
function decisive({ searches: _, trees: __, search: { concurrency: ___, ...search }, ...spec }: DataSpec): string {
	return JSON.stringify({ ...spec, search });
}

interface Waiting {
	readonly data: ProblemData;
	resolve(): void;
	reject(error: unknown): void;
}

/**
 * Training data folder that a single process writes to. The lines for several problems are written to their files
 * together, followed by one progress line that marks the problems as finished and records the file sizes. After a
 * crash, anything beyond those sizes is truncated, so that no line is incomplete or duplicated.
 */
export class DataFolder {
	readonly path: string;
	readonly totals: DataTotals = { problems: 0, tokens: 0, lines: {}, bytes: {} };
	readonly #exports: readonly DataExport[];
	readonly #lock: FileLock;
	/** Keys of finished problems. */
	readonly #done = new Set<string>();
	#waiting: Waiting[] = [];
	#writing: Promise<void> | null = null;
	#failure: Failure | null = null;

	private constructor(path: string, exports: readonly DataExport[], lock: FileLock) {
		this.path = path;
		this.#exports = exports;
		this.#lock = lock;
	}

	/**
	 * Creates the folder, or continues an existing one. Fails with `busy` if another process is writing to the folder,
	 * and with `mismatch` if it contains data generated with a different specification.
	 */
	static async open(path: string, spec: DataSpec, now: number): Promise<DataFolder> {
		await ensureFolder(path);
		const lock = await FileLock.acquire(join(path, dataFiles.lock), `The data folder ${basename(path)}`);
		try {
			const value = await readJson(path, dataFiles.data).catch((error: unknown) => {
				if (Failure.from(error).reason === 'missing') return null;
				throw error;
			});
			const folder = new DataFolder(path, [...new Set(spec.exports)], lock);
			if (value === null) {
				const file = { format: dataFormat, spec, created: now };
				await writeFileAtomic(join(path, dataFiles.data), `${JSON.stringify(file, null, '\t')}\n`);
			} else {
				const known = decodeOrThrow(dataFileSchema, value, join(path, dataFiles.data));
				if (known.format > dataFormat) {
					throw new Failure('version', `${path} was written by a newer version.`, 'Update Reasoning Lab.');
				}
				if (decisive(known.spec) !== decisive(spec)) {
					throw new Failure(
						'mismatch',
						`The data in ${path} was generated with a different specification.`,
						'Continue with the original specification, or choose another folder with --out.',
					);
				}
				await folder.#read();
			}
			await folder.#cutBack();
			return folder;
		} catch (error) {
			await lock.release();
			throw error;
		}
	}

	has(key: string): boolean {
		return this.#done.has(key);
	}

	/** Resolves when the data is on disk. Fails with `full` or `denied`. */
	add(data: ProblemData): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#waiting.push({ data, resolve, reject });
			this.#writing ??= this.#drain();
		});
	}

	async writeTree(name: string, events: readonly TreeEvent[]): Promise<void> {
		const folder = join(this.path, dataFiles.trees);
		await mkdir(folder, { recursive: true });
		try {
			await writeFile(join(folder, `${name}.jsonl`), events.map(formatLine).join(''));
		} catch (error) {
			throw Failure.from(error, `Cannot write to ${folder}`);
		}
	}

	async close(): Promise<void> {
		while (this.#writing !== null) await this.#writing;
		await this.#lock.release();
	}

	async #drain(): Promise<void> {
		await Promise.resolve();
		while (this.#waiting.length > 0) {
			const batch = this.#waiting.splice(0);
			try {
				if (this.#failure !== null) throw this.#failure;
				await this.#write(batch.map(({ data }) => data));
				for (const { resolve } of batch) resolve();
			} catch (error) {
				this.#failure = Failure.from(error);
				for (const { reject } of batch) reject(this.#failure);
			}
		}
		this.#writing = null;
	}

	async #write(batch: readonly ProblemData[]): Promise<void> {
		const bytes: Record<string, number> = { ...this.totals.bytes };
		for (const kind of this.#exports) {
			const text = batch.flatMap(({ lines }) => (lines.get(kind) ?? []).map(formatLine)).join('');
			if (text === '') continue;
			bytes[kind] = (bytes[kind] ?? 0) + (await append(join(this.path, exportFile(kind)), text));
		}
		const done = batch.map(({ key, stop, tokens, lines }) => ({
			key,
			stop,
			tokens,
			lines: Object.fromEntries([...lines].map(([kind, values]) => [kind, values.length])),
		}));
		await append(join(this.path, dataFiles.progress), formatLine({ done, bytes } satisfies DataProgress));
		this.#count({ done, bytes });
	}

	#count({ done, bytes }: DataProgress): void {
		const { totals } = this;
		for (const { key, tokens, lines } of done) {
			this.#done.add(key);
			totals.problems++;
			totals.tokens += tokens;
			for (const [kind, count] of Object.entries(lines)) totals.lines[kind] = (totals.lines[kind] ?? 0) + count;
		}
		Object.assign(totals.bytes, bytes);
	}

	/** Reads earlier progress. */
	async #read(): Promise<void> {
		const handle = await openRegular(this.path, dataFiles.progress).catch((error: unknown) => {
			if (Failure.from(error).reason === 'missing') return null;
			throw error;
		});
		if (handle === null) return;
		let whole = 0;
		try {
			const lines = new LineSplitter();
			const buffer = Buffer.alloc(1 << 18);
			for (let at = 0; ; ) {
				const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
				if (bytesRead === 0) break;
				const chunk = Uint8Array.prototype.slice.call(buffer, 0, bytesRead);
				const end = chunk.lastIndexOf(0x0a);
				if (end >= 0) whole = at + end + 1;
				at += bytesRead;
				for (const line of lines.push(chunk)) {
					const decoded = decode(dataProgressSchema, parseLine(line));
					if (!decoded.ok) {
						throw new Failure('corrupt', `${join(this.path, dataFiles.progress)} has an invalid line.`);
					}
					this.#count(decoded.value);
				}
			}
		} finally {
			await handle.close();
		}
		await truncate(join(this.path, dataFiles.progress), whole);
	}

	/** Truncates whatever a crash left after the last progress line. */
	async #cutBack(): Promise<void> {
		for (const kind of this.#exports) {
			const name = exportFile(kind);
			const handle = await openRegular(this.path, name).catch((error: unknown) => {
				if (Failure.from(error).reason === 'missing') return null;
				throw error;
			});
			const known = this.totals.bytes[kind] ?? 0;
			const size = handle === null ? 0 : (await handle.stat()).size;
			await handle?.close();
			if (size < known) {
				throw new Failure(
					'corrupt',
					`${join(this.path, name)} is ${size} bytes, but ${known} bytes were written.`,
					'Choose another folder with --out.',
				);
			}
			if (size > known) await truncate(join(this.path, name), known);
		}
	}
}

/** @returns the number of bytes written and flushed to disk */
async function append(path: string, text: string): Promise<number> {
	try {
		const handle = await openToAppend(path);
		try {
			await handle.appendFile(text);
			await handle.datasync();
		} finally {
			await handle.close();
		}
		return Buffer.byteLength(text);
	} catch (error) {
		throw Failure.from(error, `Cannot write ${path}`);
	}
}
