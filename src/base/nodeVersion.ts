/** The oldest Node that runs everything: the first that loads TypeScript without being asked to. package.json says the same. */
export const minNode = '22.18.0';

/** Whether a Node of this version, `22.18.0`, will do. */
export function nodeIsNewEnough(version: string): boolean {
	const [major = 0, minor = 0] = version.split('.').map(Number);
	return major > 22 || (major === 22 && minor >= 18);
}
