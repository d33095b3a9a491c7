import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { runFiles } from '../../runs/runFiles.ts';

/**
 * Reserves a small amount of disk space and releases it when the disk is full, so the run can still record why it
 * ended.
 */
export class DiskReserve {
	static readonly bytes = 64 * 1024;
	readonly #path: string;

	private constructor(path: string) {
		this.#path = path;
	}

	static async take(run: string): Promise<DiskReserve> {
		const reserve = new DiskReserve(join(run, runFiles.reserve));
		try {
			// Some file systems do not allocate blocks for zeros.
			await writeFile(reserve.#path, Buffer.alloc(DiskReserve.bytes, 0x5a));
			return reserve;
		} catch (error) {
			await reserve.release();
			throw Failure.from(error, `Cannot write to ${run}`);
		}
	}

	async release(): Promise<void> {
		await rm(this.#path, { force: true }).catch(() => undefined);
	}
}
