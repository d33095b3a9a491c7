/** Minimum Node version: the first one that runs TypeScript without a flag. package.json declares the same version. */
export const minNode = '22.18.0';

/** Returns whether a Node version such as `22.18.0` is supported. */
export function nodeIsNewEnough(version: string): boolean {
	const [major = 0, minor = 0] = version.split('.').map(Number);
	return major > 22 || (major === 22 && minor >= 18);
}
