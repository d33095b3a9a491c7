import { Failure } from '../base/failure.ts';
import { AppendFile } from '../files/appendFile.ts';
import { formatLine } from '../files/jsonLines.ts';
import type { TreeEventInput } from '../protocol/treeLog.ts';

/** Maximum amount of pending text before writers are asked to wait, in UTF-16 code units. */
const maxWaiting = 4 << 20;

/**
 * Writes the events of one search in order. Events are accepted immediately and written asynchronously: those that
 * arrive during a write go into the next one, so every line is either complete and flushed or absent. After a failure
 * (a full disk), nothing more is written, so that the log has no gaps.
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

	/** Why writing has stopped; null if it has not. */
	get failure(): Failure | null {
		return this.#failure;
	}

	/** Whether too much is pending; wait for {@link flush} before continuing. */
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

	/** Resolves when everything written so far is on disk. Fails with `full` or `denied` if that is impossible. */
	async flush(): Promise<void> {
		while (this.#writing !== null) await this.#writing;
		if (this.#failure !== null) throw this.#failure;
	}

	async close(): Promise<void> {
		this.#closed = true;
		while (this.#writing !== null) await this.#writing;
		await this.#file.close().catch(() => undefined);
	}

	/** Appends all lines together, or as many as fit on the disk. */
	async #append(lines: readonly string[]): Promise<void> {
		try {
			await this.#file.append(lines.join(''));
		} catch (error) {
			if (lines.length === 1) throw error;
			for (const line of lines) await this.#file.append(line);
		}
	}

	async #drain(): Promise<void> {
		// Batch events from the same microtask.
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
