/** The Python that tests run other trainers and the debugger in: one that is named, else an environment made for it. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts, cache, root } from './paths.ts';
import { run } from './process.ts';

export type TestPython = { readonly python: string } | { readonly missing: string };

const requirements = join(root, 'test/python/requirements.txt');

/**
 * An interpreter with the packages of test/python/requirements.txt. It is made once in `.vscode-test/` and again when the
 * requirements change; `REASONING_LAB_TEST_PYTHON` names another one.
 */
export async function findTestPython(say: (line: string) => void): Promise<TestPython> {
	const { REASONING_LAB_TEST_PYTHON: named, TEST_PYTHON: known } = process.env;
	if (known !== undefined) return JSON.parse(known);
	if (named) return existsSync(named) ? { python: named } : { missing: `${named} does not exist` };
	const folder = join(cache, 'python');
	const python = process.platform === 'win32' ? join(folder, 'Scripts/python.exe') : join(folder, 'bin/python');
	const mark = join(folder, 'requirements.sha256');
	const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex');
	if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) return { python };

	const log = join(artifacts, 'python-install.log');
	say('Making a Python environment with the trainers that rewards are exported to (once)');
	rmSync(folder, { recursive: true, force: true });
	const base = process.platform === 'win32' ? 'python' : 'python3';
	if ((await run(base, ['-m', 'venv', folder], { log, timeoutSeconds: 120 })) !== 0) {
		return { missing: `no Python 3.10 or newer with venv was found (log: ${log})` };
	}
	const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
	// torch by itself first: a resolver that sees everything at once may look for another build of it.
	const torch = readFileSync(requirements, 'utf8').match(/^torch==.*$/m)?.[0] ?? 'torch';
	for (const args of [
		[...pip, torch],
		[...pip, '-r', requirements],
	]) {
		if ((await run(python, args, { log, timeoutSeconds: 900 })) !== 0) {
			return { missing: `the packages of test/python/requirements.txt could not be installed (log: ${log})` };
		}
	}
	writeFileSync(mark, hash);
	return { python };
}

/** Environment that spares child processes the search. */
export function pythonEnvironment(python: TestPython): Record<string, string> {
	return { TEST_PYTHON: JSON.stringify(python) };
}
