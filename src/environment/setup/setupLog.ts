import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { ensureFolder } from '../../files/atomicFile.ts';

/** Number of setup logs kept. */
const kept = 5;
const named = /^setup-[\d-]+\.log$/;

/** The log for one setup: every command, its full output, and the result. Passwords in URLs are removed. */
export class SetupLog {
	readonly path: string;
	readonly #file: FileHandle;
	#writing: Promise<unknown> = Promise.resolve();

	private constructor(path: string, file: FileHandle) {
		this.path = path;
		this.#file = file;
	}

	static async create(folder: string): Promise<SetupLog> {
		await ensureFolder(folder);
		const stamp = new Date()
			.toISOString()
			.replace(/[:.]/g, '-')
			.replace(/[^\d-]/g, '-')
			.replace(/-$/, '');
		const path = join(folder, `setup-${stamp}.log`);
		const log = new SetupLog(path, await open(path, 'a'));
		for (const name of (await setupLogs(folder)).slice(kept)) await rm(join(folder, name), { force: true });
		return log;
	}

	/** Write errors are ignored: if the disk is full, the operation that filled it reports the error. */
	line(text: string): void {
		const safe = withoutPasswords(text);
		this.#writing = this.#writing.then(() => this.#file.appendFile(`${safe}\n`)).catch(() => undefined);
	}

	async close(): Promise<void> {
		await this.#writing;
		await this.#file.close().catch(() => undefined);
	}
}

/** Returns the names of the logs in a folder, newest first. */
export async function setupLogs(folder: string): Promise<string[]> {
	const names = await readdir(folder).catch(() => [] as string[]);
	return names
		.filter((name) => named.test(name))
		.sort()
		.reverse();
}

/** Returns the path of the newest log. Fails with `missing`. */
export async function newestSetupLog(folder: string): Promise<string> {
	const [name] = await setupLogs(folder);
	if (name !== undefined) return join(folder, name);
	throw new Failure('missing', 'There is no setup log because the PyTorch engine has not been set up here.');
}

/** Removes user names and passwords from URLs in text. */
export function withoutPasswords(text: string): string {
	return text.replace(/(\/\/)[^/\s@'"]+@/g, '$1***@');
}
