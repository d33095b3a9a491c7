import { constants } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { Failure } from '../base/failure.ts';
import { namedFiles, type PythonImport, pythonImports, scriptImports } from './localImports.ts';

/** Limits on the files that a run copies. Reward files are written by hand, but their word lists can be longer. */
export const rewardFileLimits = { files: 500, fileBytes: 16 << 20, bytes: 64 << 20 } as const;

/** Reward files with all their local imports. */
export interface RewardSources {
	/** The deepest folder that contains all files. */
	readonly root: string;
	/** File contents, keyed by path relative to the root, with `/` as the separator. */
	readonly files: ReadonlyMap<string, Buffer>;
	/** For each requested reward file, its path relative to the root, with `/` as the separator. */
	readonly entries: ReadonlyMap<string, string>;
}

const scriptEndings = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];
const moduleEndings = [...scriptEndings, '.json'];

/** Collects files and their contents without duplicates. */
class Collection {
	readonly contents = new Map<string, Buffer>();
	#bytes = 0;

	/** @param why name of the file that needs it, for error messages */
	async add(path: string, why: string): Promise<string> {
		const known = this.contents.get(path);
		if (known !== undefined) return known.toString('utf8');
		if (this.contents.size >= rewardFileLimits.files) {
			throw new Failure(
				'invalid',
				`${why} has more than ${rewardFileLimits.files} local files.`,
				'Import fewer files, or install them as a package.',
			);
		}
		const bytes = await readRegular(path, why);
		this.#bytes += bytes.length;
		if (this.#bytes > rewardFileLimits.bytes) {
			throw new Failure(
				'invalid',
				`${why} has more than ${rewardFileLimits.bytes >> 20} MB of local files.`,
				'Import fewer files, or install them as a package.',
			);
		}
		this.contents.set(path, bytes);
		return bytes.toString('utf8');
	}
}

async function readRegular(path: string, why: string): Promise<Buffer> {
	// Do not block on a pipe without a writer.
	const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${path}, which ${why} needs`);
	});
	try {
		const info = await handle.stat();
		if (!info.isFile()) throw new Failure('invalid', `${path}, which ${why} needs, is not a regular file.`);
		if (info.size > rewardFileLimits.fileBytes) {
			throw new Failure(
				'invalid',
				`${path}, which ${why} needs, is ${info.size} bytes; the limit is ${rewardFileLimits.fileBytes}.`,
			);
		}
		return await handle.readFile();
	} finally {
		await handle.close();
	}
}

async function isFile(path: string): Promise<boolean> {
	return (await stat(path).catch(() => null))?.isFile() ?? false;
}

/**
 * Resolves a relative specifier to a file, or returns null if there is none, in which case loading reports the error
 * with its line.
 */
async function resolveScript(folder: string, specifier: string): Promise<string | null> {
	let written = specifier;
	try {
		written = decodeURIComponent(specifier);
	} catch {
		// Not escaped, so use the specifier unchanged.
	}
	const target = resolve(folder, written);
	for (const candidate of [
		target,
		...moduleEndings.map((ending) => target + ending),
		...moduleEndings.map((ending) => join(target, `index${ending}`)),
	]) {
		if (await isFile(candidate)) return await realpath(candidate);
	}
	return null;
}

/** Resolves a Python import to the files of the module, including its packages, if they are below `top`. */
async function resolvePython(top: string, from: string, { level, module, names }: PythonImport): Promise<string[]> {
	let folder = top;
	if (level > 0) {
		folder = from;
		for (let i = 1; i < level; i++) folder = dirname(folder);
		if (folder !== top && !folder.startsWith(top + sep)) return [];
	}
	const found: string[] = [];
	const enter = async (path: string): Promise<boolean> => {
		const init = join(path, '__init__.py');
		if (await isFile(init)) found.push(init);
		return (await stat(path).catch(() => null))?.isDirectory() ?? false;
	};
	for (const part of module) {
		const path = join(folder, part);
		if (!(await enter(path))) {
			if (await isFile(`${path}.py`)) found.push(`${path}.py`);
			return found;
		}
		folder = path;
	}
	for (const taken of names) {
		const path = join(folder, taken);
		if (await isFile(`${path}.py`)) found.push(`${path}.py`);
		else await enter(path);
	}
	return found;
}

/** Returns the deepest folder that contains all paths. Fails with `invalid` if that is not a project folder. */
function commonRoot(paths: readonly string[], what: string): string {
	let root = dirname(paths[0] as string);
	const holds = (path: string) => path.startsWith(root.endsWith(sep) ? root : root + sep);
	for (const path of paths) {
		while (!holds(path)) {
			const parent = dirname(root);
			if (parent === root) break;
			root = parent;
		}
	}
	const home = homedir();
	if (dirname(root) === root || root === home || home.startsWith(root + sep)) {
		const far = paths.find((path) => !path.startsWith(dirname(paths[0] as string) + sep)) ?? paths[0];
		throw new Failure(
			'invalid',
			`${what} needs ${far}, which is outside its project.`,
			'Move it next to the reward file, or install it as a package.',
		);
	}
	return root;
}

/** Adds the nearest package.json of each script below the root, because it determines the script's module type. */
async function addPackages(collection: Collection, root: string): Promise<void> {
	const folders = new Set<string>();
	for (const path of [...collection.contents.keys()]) {
		if (!scriptEndings.includes(extname(path))) continue;
		for (let folder = dirname(path); folder === root || folder.startsWith(root + sep); folder = dirname(folder)) {
			if (folders.has(folder)) break;
			folders.add(folder);
			const path = join(folder, 'package.json');
			if (!(await isFile(path))) continue;
			await collection.add(path, folder);
			break;
		}
	}
}

/**
 * Reads reward files with all their local dependencies, transitively: relative imports in TypeScript and JavaScript,
 * Python modules in the reward file's folder or below it, and files in `@file` comments. Missing imports are left to
 * the reward loader, which reports the line. Fails with `missing`, `denied`, or `invalid` if a file is too large, not
 * regular, or outside the project.
 * @param paths absolute paths of the reward files
 */
export async function readRewardSources(paths: readonly string[]): Promise<RewardSources> {
	const collection = new Collection();
	const entries = new Map<string, string>();
	for (const path of paths) {
		if (!isAbsolute(path)) throw new Failure('internal', `${path} is not an absolute path.`);
		const isPython = extname(path) === '.py';
		const place = isPython ? join(await realpathOf(dirname(path)), basename(path)) : await realpathOf(path);
		entries.set(path, place);
		const queue = [place];
		const seen = new Set<string>();
		for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
			if (seen.has(next)) continue;
			seen.add(next);
			const text = await collection.add(next, path);
			const ending = extname(next);
			if (ending === '.py') {
				for (const found of pythonImports(text)) {
					queue.push(...(await resolvePython(dirname(place), dirname(next), found)));
				}
			} else if (scriptEndings.includes(ending)) {
				for (const specifier of scriptImports(text)) {
					const found = await resolveScript(dirname(next), specifier);
					if (found !== null) queue.push(found);
				}
			} else continue;
			for (const named of namedFiles(text)) {
				const file = resolve(dirname(next), named.path);
				if (!(await isFile(file))) {
					throw new Failure(
						'missing',
						`${next}, line ${named.line}: "@file ${named.path}" does not refer to a file.`,
						"Fix the path, which is relative to this file's folder.",
					);
				}
				await collection.add(file, path);
			}
		}
	}
	const root = commonRoot([...collection.contents.keys()], paths[0] as string);
	await addPackages(collection, root);
	const place = (path: string) => {
		const parts = relative(root, path).split(sep);
		if (parts.some((part) => part.includes('\\'))) {
			throw new Failure('invalid', `${path} cannot be copied because of its name.`, 'Rename it without "\\".');
		}
		return parts.join('/');
	};
	return {
		root,
		files: new Map([...collection.contents].map(([path, bytes]) => [place(path), bytes])),
		entries: new Map([...entries].map(([asked, path]) => [asked, place(path)])),
	};
}

function realpathOf(path: string): Promise<string> {
	return realpath(path).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${path}`);
	});
}
