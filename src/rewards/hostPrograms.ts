import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { runtimeFolder } from '../runs/runtimeFolder.ts';

export type HostLanguage = 'node' | 'python';

/**
 * Snapshots of the reward host programs, taken when the programs are first needed and kept in memory. The programs are
 * launched from copies in the per-user runtime folder that are named by content hash. Updating the extension therefore
 * does not affect processes that are already running.
 */
export class HostPrograms {
	readonly #folder: string;
	readonly #copies = new Map<HostLanguage, Promise<Copy>>();

	/** @param folder `dist`, or `src/rewards` when running from source */
	constructor(folder: string) {
		this.#folder = folder;
	}

	/** Returns the path to a program after making sure that it exists. Fails with `missing` or `denied`. */
	async path(language: HostLanguage): Promise<string> {
		// When run from source, the Node host imports adjacent files, so it cannot be moved. It is also never updated while
		// running.
		const source = join(this.#folder, 'host', 'main.ts');
		if (language === 'node' && (await isFile(source))) return source;
		let copy = this.#copies.get(language);
		if (copy === undefined) {
			copy = readProgram(this.#folder, language);
			this.#copies.set(language, copy);
			copy.catch(() => this.#copies.delete(language));
		}
		return await (await copy).place();
	}
}

interface Copy {
	place(): Promise<string>;
}

const entry = { node: 'rewardHost.js', python: join('python', 'reward_host.py') } as const;

async function readProgram(folder: string, language: HostLanguage): Promise<Copy> {
	const main = join(folder, entry[language]);
	const files = new Map<string, Buffer>();
	try {
		files.set(main, await readFile(main));
		const parts =
			language === 'python'
				? await filesOf(join(dirname(main), '_reward_host'), (name) => name.endsWith('.py'))
				: [
						// Parts of the Node host that only some built-in rewards need, and files that the sandbox runs.
						...(await filesOf(folder, (name) => name.startsWith('rewardHost-') && name.endsWith('.js'))),
						...(await filesOf(join(folder, 'sandbox'), () => true).catch(() => [])),
					];
		for (const part of parts) files.set(part, await readFile(part));
	} catch (error) {
		throw new Failure(
			'missing',
			`Cannot read the reward host program ${main}.`,
			'Reinstall or rebuild the extension.',
			{
				cause: error,
			},
		);
	}
	const hash = createHash('sha256');
	for (const [path, content] of files) hash.update(`${path.slice(folder.length)}\0${content.length}\0`).update(content);
	const name = `host-${hash.digest('hex').slice(0, 16)}`;
	return {
		async place() {
			const target = join(await runtimeFolder(), name);
			const inTarget = (path: string) => join(target, path.slice(dirname(main).length));
			// The runtime folder can be cleaned up during a long run, so check it on every start.
			for (const path of files.keys()) {
				if (!(await isFile(inTarget(path)))) {
					await write(
						target,
						[...files].map(([from, content]) => [inTarget(from), content]),
					);
					break;
				}
			}
			// Makes Node treat the program as an ES module regardless of its folder.
			return inTarget(main);
		},
	};
}

/** Returns the files in a folder, sorted by name. */
async function filesOf(folder: string, wanted: (name: string) => boolean): Promise<string[]> {
	const entries = await readdir(folder, { withFileTypes: true });
	const names = entries.filter((entry) => entry.isFile() && wanted(entry.name)).map(({ name }) => name);
	return names.sort().map((name) => join(folder, name));
}

/** Writes files. Each file appears atomically, even if several processes write concurrently. */
async function write(folder: string, files: readonly (readonly [string, Buffer])[]): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	const all: (readonly [string, Buffer | string])[] = [...files, [join(folder, 'package.json'), '{"type":"module"}\n']];
	for (const [path, content] of all) {
		await mkdir(dirname(path), { recursive: true, mode: 0o700 });
		const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
		try {
			await writeFile(temporary, content, { mode: 0o600 });
			await rename(temporary, path);
		} catch (error) {
			await rm(temporary, { force: true });
			throw Failure.from(error, `Cannot write ${path}`);
		}
	}
}

async function isFile(path: string): Promise<boolean> {
	return (await stat(path).catch(() => null))?.isFile() ?? false;
}
