import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Failure } from '../../base/failure.ts';

/** Returns the path of a virtual environment's Python executable. */
export function programOf(environment: string): string {
	return process.platform === 'win32' ? join(environment, 'Scripts', 'python.exe') : join(environment, 'bin', 'python');
}

/**
 * Resolves an interpreter specified by the user: the path of an executable or environment folder, with `~` for the home
 * folder, or a name on PATH, which is returned unchanged. Fails with `missing` or `invalid`, naming the source.
 * @param who source, such as "The setting reasoningLab.pytorch.python"
 */
export async function namedInterpreter(name: string, who: string): Promise<string> {
	const path = name.replace(/^~(?=[/\\])/, homedir());
	if (!isAbsolute(path) && !/[/\\]/.test(path)) return path;
	if (!isAbsolute(path)) {
		throw new Failure('invalid', `${who} specifies ${name}, which is not an absolute path.`, 'Specify the full path.');
	}
	const found = await stat(path).catch(() => null);
	if (found === null) throw new Failure('missing', `${who} specifies ${path}, which does not exist.`, 'Fix the path.');
	if (!found.isDirectory()) return path;
	// Conda environments on Windows have python.exe at the top level.
	for (const program of [programOf(path), join(path, 'bin', 'python3'), join(path, 'python.exe')]) {
		if ((await stat(program).catch(() => null))?.isFile()) return program;
	}
	throw new Failure(
		'missing',
		`${who} specifies the folder ${path}, which does not contain Python.`,
		'Specify a virtual environment folder or its Python executable.',
	);
}
