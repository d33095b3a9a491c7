import { stat } from 'node:fs/promises';

/** What tells two states of a file apart without reading it. */
async function stampOf(path: string): Promise<string> {
	const found = await stat(path, { bigint: true }).catch(() => null);
	return found === null ? 'missing' : `${found.ino} ${found.size} ${found.mtimeNs}`;
}

/** The state of some files at one time, to see later whether one has changed. */
export class FileStamps {
	readonly #stamps: ReadonlyMap<string, string>;

	private constructor(stamps: ReadonlyMap<string, string>) {
		this.#stamps = stamps;
	}

	static async of(paths: readonly string[]): Promise<FileStamps> {
		return new FileStamps(new Map(await Promise.all(paths.map(async (path) => [path, await stampOf(path)] as const))));
	}

	/** Whether all files are as they were. */
	async hold(): Promise<boolean> {
		const now = await Promise.all([...this.#stamps].map(async ([path, stamp]) => (await stampOf(path)) === stamp));
		return now.every(Boolean);
	}

	/** Whether a file that both name differs between them. */
	differsFrom(other: FileStamps): boolean {
		return [...this.#stamps].some(([path, stamp]) => (other.#stamps.get(path) ?? stamp) !== stamp);
	}
}
