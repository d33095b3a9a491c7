import { type AbortSignalLike, Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { FrameFile, FramePlace } from '../../files/frame.ts';
import type { FaultList } from '../faultList.ts';
import type { DiskFolder } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import { openFrames, withParts } from './openFrames.ts';
import type { AnnotationFiles } from './runFormat.ts';

/** Location of one annotation. */
interface Annotated extends FramePlace {
	readonly file: number;
}

/** Number of annotation files to keep open. */
const keptOpen = 8;

/**
 * Records that were written after the rollouts they describe, in separate files. Only their locations are kept in
 * memory, because they contain per-token data for the whole run.
 */
export class Annotations {
	readonly #disk: DiskFolder;
	readonly #spec: AnnotationFiles;
	readonly #faults: FaultList;
	readonly #turns = new Sequencer();
	#stamp = '';
	#files: readonly FoundFile[] = [];
	#byKey = new Map<string, Annotated[]>();

	constructor(disk: DiskFolder, spec: AnnotationFiles, faults: FaultList) {
		this.#disk = disk;
		this.#spec = spec;
		this.#faults = faults;
	}

	/** Returns the current files, oldest data first. */
	async files(): Promise<readonly FoundFile[]> {
		const found: FoundFile[] = [];
		for (const pattern of this.#spec.patterns) found.push(...(await this.#disk.find(pattern)));
		// The original of a file that was just compressed can still be next to it.
		const plain = new Set(found.map(({ path }) => path));
		return found.filter(
			({ path }) => this.#spec.accepts?.(path) !== false && (!path.endsWith('.zst') || !plain.has(path.slice(0, -4))),
		);
	}

	/** Opens the files for reading. Locates all annotations first, if that has not been done since the last change. */
	async open(signal?: AbortSignalLike): Promise<AnnotationReader> {
		return this.#turns.queue(async () => {
			const files = await this.files();
			const stamp = files.map((file) => `${file.path} ${file.stamp}`).join('\n');
			if (stamp !== this.#stamp) {
				const byKey = new Map<string, Annotated[]>();
				for (const [i, file] of files.entries()) await this.#locate(file, i, byKey, signal);
				this.#files = files;
				this.#byKey = byKey;
				this.#stamp = stamp;
			}
			return new AnnotationReader(this.#disk.path, this.#spec, this.#files, this.#byKey);
		});
	}

	async #locate(
		{ path }: FoundFile,
		file: number,
		byKey: Map<string, Annotated[]>,
		signal: AbortSignalLike | undefined,
	): Promise<void> {
		this.#faults.forget(path);
		const fault = (line: number | null, message: string) => this.#faults.add({ file: path, line, message, records: 1 });
		let frames: FrameFile;
		try {
			frames = await openFrames(this.#disk.path, path, withParts(this.#spec, this.#spec.keyParts));
		} catch (error) {
			fault(null, Failure.from(error).message);
			return;
		}
		try {
			for await (const { offset, length, number, records, fault: message } of frames.frames(signal)) {
				if (message !== null) fault(number, message);
				for (const record of records) {
					const key = this.#spec.key(record);
					if (key === null) {
						fault(number, 'does not refer to a rollout');
						continue;
					}
					const places = byKey.get(key);
					if (places === undefined) byKey.set(key, [{ file, offset, length, number }]);
					else places.push({ file, offset, length, number });
				}
			}
		} finally {
			await frames.close().catch(() => undefined);
		}
	}
}

/** Reads annotations by key. Must be closed. */
export class AnnotationReader {
	readonly #folder: string;
	readonly #spec: AnnotationFiles;
	readonly #files: readonly FoundFile[];
	readonly #byKey: ReadonlyMap<string, readonly Annotated[]>;
	readonly #open = new Map<number, FrameFile>();

	constructor(
		folder: string,
		spec: AnnotationFiles,
		files: readonly FoundFile[],
		byKey: ReadonlyMap<string, readonly Annotated[]>,
	) {
		this.#folder = folder;
		this.#spec = spec;
		this.#files = files;
		this.#byKey = byKey;
	}

	/** Returns the annotations of a record's rollouts by key, in the order they were written. */
	async of(record: unknown): Promise<ReadonlyMap<string, readonly unknown[]>> {
		const found = new Map<string, unknown[]>();
		for (const key of this.#spec.keysOf(record)) {
			const values: unknown[] = [];
			for (const place of this.#byKey.get(key) ?? []) {
				const frames = await this.#frames(place.file);
				// Errors were reported when the annotations were located.
				if (frames !== null) values.push(...(await frames.frame(place)).records);
			}
			if (values.length > 0) found.set(key, values);
		}
		return found;
	}

	async close(): Promise<void> {
		for (const frames of this.#open.values()) await frames.close().catch(() => undefined);
		this.#open.clear();
	}

	async #frames(file: number): Promise<FrameFile | null> {
		const known = this.#open.get(file);
		if (known !== undefined) return known;
		const path = this.#files[file]?.path ?? '';
		const frames = await openFrames(this.#folder, path, this.#spec).catch(() => null);
		if (frames === null) return null;
		this.#open.set(file, frames);
		const [oldest] = this.#open.keys();
		if (this.#open.size > keptOpen && oldest !== undefined) {
			await this.#open.get(oldest)?.close();
			this.#open.delete(oldest);
		}
		return frames;
	}
}
