import { stat } from 'node:fs/promises';

interface Stamp {
	/** Changes whenever the file changes. */
	readonly text: string;
	/** Time of the last write, in milliseconds since the epoch; 0 if the file does not exist. */
	readonly writtenMs: number;
}

async function stampOf(path: string): Promise<Stamp> {
	const found = await stat(path, { bigint: true }).catch(() => null);
	if (found === null) return { text: 'missing', writtenMs: 0 };
	return { text: `${found.ino} ${found.size} ${found.mtimeNs}`, writtenMs: Number(found.mtimeNs) / 1e6 };
}

/** Snapshot of the state of several files, used to detect later changes. */
export class FileStamps {
	readonly #stamps: ReadonlyMap<string, Stamp>;

	private constructor(stamps: ReadonlyMap<string, Stamp>) {
		this.#stamps = stamps;
	}

	static async of(paths: readonly string[]): Promise<FileStamps> {
		return new FileStamps(new Map(await Promise.all(paths.map(async (path) => [path, await stampOf(path)] as const))));
	}

	/** Returns whether all files are unchanged. */
	async hold(): Promise<boolean> {
		const now = await Promise.all(
			[...this.#stamps].map(async ([path, { text }]) => (await stampOf(path)).text === text),
		);
		return now.every(Boolean);
	}

	/** Returns whether any file included in both snapshots differs between them. */
	differsFrom(other: FileStamps): boolean {
		return [...this.#stamps].some(([path, { text }]) => (other.#stamps.get(path)?.text ?? text) !== text);
	}

	/** Returns whether any file was written after a time. @param time `Date.now()`, which is in whole milliseconds */
	writtenAfter(time: number): boolean {
		return [...this.#stamps.values()].some(({ writtenMs }) => writtenMs >= time + 1);
	}
}
