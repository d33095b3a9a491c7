import { isAbsolute, relative, sep } from 'node:path';

/** Returns whether an absolute path is the folder or is inside it. Compares names only, without resolving links. */
export function isInside(path: string, folder: string): boolean {
	const way = relative(folder, path);
	return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
