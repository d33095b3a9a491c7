import { stat } from 'node:fs/promises';

/** Returns a stamp that changes whenever the file changes, without reading its content. */
async function stampOf(path: string): Promise<string> {
	const found = await stat(path, { bigint: true }).catch(() => null);
	return found === null ? 'missing' : `${found.ino} ${found.size} ${found.mtimeNs}`;
}

/** Snapshot of the state of several files, used to detect later changes. */
export class FileStamps {
	readonly #stamps: ReadonlyMap<string, string>;

	private constructor(stamps: ReadonlyMap<string, string>) {
		this.#stamps = stamps;
	}

	static async of(paths: readonly string[]): Promise<FileStamps> {
		return new FileStamps(new Map(await Promise.all(paths.map(async (path) => [path, await stampOf(path)] as const))));
	}

	/** Returns whether all files are unchanged. */
	async hold(): Promise<boolean> {
		const now = await Promise.all([...this.#stamps].map(async ([path, stamp]) => (await stampOf(path)) === stamp));
		return now.every(Boolean);
	}

	/** Returns whether any file included in both snapshots differs between them. */
	differsFrom(other: FileStamps): boolean {
		return [...this.#stamps].some(([path, stamp]) => (other.#stamps.get(path) ?? stamp) !== stamp);
	}
}
