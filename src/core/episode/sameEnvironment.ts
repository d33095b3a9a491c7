import type { SearchEnvironment } from '../../protocol/searchSpec.ts';

/** Whether two environments are the same file, package or server with the same arguments, whatever their limits. */
export function isSameEnvironment(a: SearchEnvironment, b: SearchEnvironment): boolean {
	return environmentKey(a) === environmentKey(b);
}

/** Returns a text that two environments share if they are the same. */
export function environmentKey({ file, package: named, server, arguments: given }: SearchEnvironment): string {
	return JSON.stringify([file, named, server, given ?? null]);
}

/** Returns the name of an environment: that of its file or package, or its address. */
export function environmentName({ file, package: named, server }: SearchEnvironment): string {
	return server ?? (file ?? named ?? '').split(/[\\/]/).at(-1) ?? '';
}
