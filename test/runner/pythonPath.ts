import { execFileSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';

/**
 * Returns a PATH on which `python3` is the interpreter itself. Version managers put a script there that looks for the
 * interpreter, which takes several times as much CPU time as starting it. The order of folders that are already on the
 * PATH does not change.
 */
export function pathToPython(path: string): string {
	let interpreter: string;
	try {
		interpreter = execFileSync('python3', ['-I', '-S', '-c', 'import sys; print(sys.executable)'], {
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', 'ignore'],
			env: { ...process.env, PATH: path },
		}).trim();
	} catch {
		return path;
	}
	const folder = dirname(interpreter);
	return interpreter === '' || path.split(delimiter).includes(folder) ? path : `${folder}${delimiter}${path}`;
}
