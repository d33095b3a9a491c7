import type { SearchEnvironment } from '../../protocol/searchSpec.ts';

/**
 * Returns whether two environments are the same file, package, or server with the same arguments, regardless of their
 * limits.
 */
export function isSameEnvironment(a: SearchEnvironment, b: SearchEnvironment): boolean {
	return environmentKey(a) === environmentKey(b);
}

/** Returns a key that is the same for equal environments. */
export function environmentKey({ file, package: named, server, arguments: given }: SearchEnvironment): string {
	return JSON.stringify([file, named, server, given ?? null]);
}

/** Returns the display name of an environment: its file name, package name, or address. */
export function environmentName({
	file,
	package: named,
	server,
}: Pick<SearchEnvironment, 'file' | 'package' | 'server'>): string {
	return server ?? (file ?? named ?? '').split(/[\\/]/).at(-1) ?? '';
}
