import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A little room on the disk that is given back when the disk is full, so that the run can still say why it ended.
 */
export class DiskReserve {
	static readonly bytes = 64 * 1024;
	readonly #path: string;

	private constructor(path: string) {
		this.#path = path;
	}

	static async take(run: string): Promise<DiskReserve> {
		const reserve = new DiskReserve(join(run, '.reserve'));
		const handle = await open(reserve.#path, 'w');
		try {
			// Not zeros: some file systems keep no blocks for them.
			await handle.writeFile(Buffer.alloc(DiskReserve.bytes, 0x5a));
		} finally {
			await handle.close();
		}
		return reserve;
	}

	async release(): Promise<void> {
		await rm(this.#path, { force: true }).catch(() => undefined);
	}
}
