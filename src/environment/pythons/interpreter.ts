import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Failure } from '../../base/failure.ts';

/** Where the program of a virtual environment lies. */
export function programOf(environment: string): string {
	return process.platform === 'win32' ? join(environment, 'Scripts', 'python.exe') : join(environment, 'bin', 'python');
}

/**
 * The program that a person names: a path of a program or of an environment's folder, `~` for the home folder, or a name on
 * PATH, which is taken as it is. Fails with `missing`, naming who named it.
 * @param who "The setting reasoningLab.pytorch.python"
 */
export async function namedInterpreter(name: string, who: string): Promise<string> {
	const path = name.replace(/^~(?=[/\\])/, homedir());
	if (!isAbsolute(path) && !/[/\\]/.test(path)) return path;
	if (!isAbsolute(path)) {
		throw new Failure('invalid', `${who} names ${name}, which is not an absolute path.`, 'Use the full path.');
	}
	const found = await stat(path).catch(() => null);
	if (found === null) throw new Failure('missing', `${who} names ${path}, which does not exist.`, 'Fix it.');
	if (!found.isDirectory()) return path;
	// Conda's environments on Windows have it at their top.
	for (const program of [programOf(path), join(path, 'bin', 'python3'), join(path, 'python.exe')]) {
		if ((await stat(program).catch(() => null))?.isFile()) return program;
	}
	throw new Failure(
		'missing',
		`${who} names the folder ${path}, which contains no Python.`,
		'Use the folder of a virtual environment, or its Python.',
	);
}
