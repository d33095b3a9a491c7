/** Python environments with other programs, which pip creates once in a folder shared by all clones. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { artifacts } from '../scripts/paths.ts';
import { run } from '../scripts/process.ts';
import { sharedFolder } from '../scripts/sharedCache.ts';

export interface PipEnvironment {
	/** The folder's name without the key. Environments of the same kind are created one at a time. */
	readonly kind: string;
	/** Used in messages: "the environment trl of other programs". */
	readonly what: string;
	/** Requirements, one each. */
	readonly packages: readonly string[];
	/** Packages that are installed for their sources, without their requirements. */
	readonly alone?: readonly string[];
	/**
	 * Modules whose bytecode is written once, with that of everything they import. Programs in a sandbox, or with
	 * PYTHONDONTWRITEBYTECODE, do not write it, and would compile the same sources at every start.
	 */
	readonly imports?: readonly string[];
	/** Anything else that determines whether an environment can be reused. */
	readonly key: readonly string[];
}

/** Returns the requirements in the text of a requirements file. */
export function requirementsIn(text: string): string[] {
	return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** Returns the path of an environment's Python, creating the environment if necessary. Throws if pip fails. */
export async function pipEnvironment({
	kind,
	what,
	packages,
	alone = [],
	imports = [],
	key,
}: PipEnvironment): Promise<string> {
	const facts = execFileSync('python3', ['-c', 'import sys; print(sys.version, sys.base_prefix)'], {
		encoding: 'utf8',
	});
	const hash = createHash('sha256').update(facts);
	for (const part of [...key, ...imports]) hash.update(part);
	const log = join(artifacts, `${kind}-install.log`);
	const folder = await sharedFolder({
		kind,
		key: hash.digest('hex').slice(0, 16),
		what,
		say: console.error,
		async make(folder, signal) {
			const python = join(folder, 'bin/python');
			const step = async (command: string, args: readonly string[]) => {
				const env = { PYTHONDONTWRITEBYTECODE: undefined, PYTHONPYCACHEPREFIX: undefined };
				const code = await run(command, args, { log, signal, timeoutSeconds: 3600, env });
				if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: see ${log}`);
			};
			const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
			await step('python3', ['-m', 'venv', folder]);
			// Install torch first: when resolving everything together, pip may choose a different build.
			const torch = packages.find((line) => line.startsWith('torch=='));
			if (torch !== undefined) await step(python, [...pip, torch]);
			await step(python, [...pip, ...packages]);
			if (alone.length > 0) await step(python, [...pip, '--no-deps', ...alone]);
			if (imports.length > 0) await step(python, ['-c', `import ${imports.join(', ')}`]);
		},
	});
	return join(folder, 'bin/python');
}

/** Returns the Python of an environment in the folder specified by `REASONING_LAB_PEERS`, or null if it is not set. */
export function existingPython(name: string): string | null {
	const { REASONING_LAB_PEERS: named } = process.env;
	return named ? join(named, name, 'bin/python') : null;
}
