import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';

const namePattern = /^[A-Za-z0-9_][\w.-]*$/;

/**
 * Fails with `invalid` unless every name is a plain file name, without folders, that cannot be mistaken for an option.
 */
export function checkFileNames(files: Readonly<Record<string, string>>): void {
	const wrong = Object.keys(files).find((name) => !namePattern.test(name));
	if (wrong !== undefined) throw new Failure('invalid', `"${wrong}" is not a valid file name for a sandbox.`);
}

/** Creates a temporary folder with files for a sandbox. @returns its path and a function that removes it */
export async function fileFolder(
	files: Readonly<Record<string, string>>,
): Promise<{ readonly path: string; remove(): Promise<void> }> {
	checkFileNames(files);
	const path = await mkdtemp(join(tmpdir(), 'reasoning-lab-'));
	const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3 });
	try {
		// A different user reads the files inside the sandbox.
		await chmod(path, 0o755);
		for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text, { mode: 0o444 });
		return { path, remove };
	} catch (error) {
		await remove();
		throw error;
	}
}
