import { Failure } from '../base/failure.ts';
import { AppendFile } from '../files/appendFile.ts';
import { formatLine } from '../files/jsonLines.ts';
import type { TreeEventInput } from '../protocol/treeLog.ts';

/** Text that may wait to be written before whoever writes is asked to wait, in UTF-16 code units. */
const maxWaiting = 4 << 20;

/**
 * Writes the events of one search, in their order. Events are taken at once and written behind: what comes while a write is
 * under way goes with the next, so that a line is whole and flushed or not there at all. After a failure (a full disk)
 * nothing more is written, so that the log has no gap.
 */
export class TreeLogWriter {
	readonly #file: AppendFile;
	readonly #onFailure: (failure: Failure) => void;
	#waiting: string[] = [];
	#size = 0;
	#writing: Promise<void> | null = null;
	#failure: Failure | null = null;
	#closed = false;

	constructor(path: string, onFailure: (failure: Failure) => void = () => undefined) {
		this.#file = new AppendFile(path);
		this.#onFailure = onFailure;
	}

	/** Why nothing is written any more; null: all is well. */
	get failure(): Failure | null {
		return this.#failure;
	}

	/** More is waiting than should be: wait for {@link flush} before continuing. */
	get behind(): boolean {
		return this.#size > maxWaiting;
	}

	write(event: TreeEventInput): void {
		if (this.#failure !== null || this.#closed) return;
		const line = formatLine(event);
		this.#waiting.push(line);
		this.#size += line.length;
		this.#writing ??= this.#drain();
	}

	/** Resolves when all that was written so far is on disk. Fails with `full` or `denied` when it is not. */
	async flush(): Promise<void> {
		while (this.#writing !== null) await this.#writing;
		if (this.#failure !== null) throw this.#failure;
	}

	async close(): Promise<void> {
		this.#closed = true;
		while (this.#writing !== null) await this.#writing;
		await this.#file.close().catch(() => undefined);
	}

	/** All lines at once, or as many as there is room for. */
	async #append(lines: readonly string[]): Promise<void> {
		try {
			await this.#file.append(lines.join(''));
		} catch (error) {
			if (lines.length === 1) throw error;
			for (const line of lines) await this.#file.append(line);
		}
	}

	async #drain(): Promise<void> {
		// What is said in the same turn goes together.
		await Promise.resolve();
		try {
			while (this.#waiting.length > 0) {
				const lines = this.#waiting;
				this.#waiting = [];
				this.#size = 0;
				await this.#append(lines);
			}
		} catch (error) {
			const failure = Failure.from(error);
			this.#failure =
				failure.reason === 'full'
					? new Failure('full', failure.message, 'Free some disk space, then use Run More.', { cause: error })
					: failure;
			this.#waiting = [];
			this.#size = 0;
			this.#onFailure(this.#failure);
		} finally {
			this.#writing = null;
		}
	}
}
