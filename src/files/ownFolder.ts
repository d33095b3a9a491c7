import { lstat, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../base/failure.ts';

/** Marker file that the owner of a link's target folder adds to allow writes through the link. */
export const linkMarker = '.reasoning-lab';

/**
 * Resolves a write location below `base` whose path the user did not type, such as `runs/`, `searches/` or a folder
 * inside a run. A cloned repository or downloaded run could contain a link there. A link is followed only if its target
 * is an empty folder (which is then marked) or a marked one. Creates no folders.
 * @param parts names below `base`; `base` itself can be a link
 * @returns the path; fails with `invalid` if a part is not a folder or links to a folder with other files
 */
export async function requireInside(base: string, ...parts: string[]): Promise<string> {
	let path = base;
	for (const part of parts.flatMap((one) => one.split(/[\\/]/))) {
		if (part === '' || part === '.' || part === '..') throw new Failure('internal', `"${part}" is not a folder name.`);
		path = join(path, part);
		const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
			if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
			throw Failure.from(error, `Cannot inspect ${path}`);
		});
		if (found === null || found.isDirectory()) continue;
		if (!found.isSymbolicLink()) {
			throw new Failure('invalid', `${path} is not a folder, so nothing was written.`, 'Move or rename it.');
		}
		await requireMarked(path);
	}
	return join(base, ...parts);
}

async function requireMarked(link: string): Promise<void> {
	const target = await realpath(link).catch(() => null);
	if (target === null || !(await stat(target)).isDirectory()) {
		throw new Failure('invalid', `${link} is a link, but not to a folder, so nothing was written.`, 'Remove the link.');
	}
	const names = await readdir(target).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${target}`);
	});
	if (names.includes(linkMarker)) return;
	if (names.length === 0) {
		await writeFile(join(target, linkMarker), '', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== 'EEXIST') throw Failure.from(error, `Cannot write to ${target}`);
		});
		return;
	}
	throw new Failure(
		'invalid',
		`${link} links to ${target}, which contains other files, so nothing was written.`,
		`If you created the link, add an empty file named ${linkMarker} to ${basename(target)}. Otherwise, replace the link with a folder.`,
	);
}
