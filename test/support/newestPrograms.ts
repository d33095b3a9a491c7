/** The newest releases of other programs that pip can install, in environments shared by all clones. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts, root } from '../scripts/paths.ts';
import { run } from '../scripts/process.ts';
import { sharedFolder } from '../scripts/sharedCache.ts';

const folderOf = join(root, 'test/acceptance/formats');

/** Packages of an environment, one per line. Those after "# without dependencies" are installed for their sources. */
function packagesOf(name: string): { readonly whole: readonly string[]; readonly alone: readonly string[] } {
	const [whole = '', alone = ''] = readFileSync(join(folderOf, `${name}.txt`), 'utf8').split(
		'# without dependencies\n',
	);
	const lines = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
	return { whole: lines(whole), alone: lines(alone) };
}

/** Returns the newest release of a package that the registry lists. */
function newestOf(requirement: string): string {
	const [name = ''] = requirement.split(/[=<>[]/);
	const args = ['-m', 'pip', 'index', 'versions', '--disable-pip-version-check', name];
	try {
		return (
			execFileSync('python3', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n', 1)[0] ?? ''
		);
	} catch {
		return requirement;
	}
}

/**
 * Returns the Python of an environment, which is created again if one of its packages has a newer release.
 * `REASONING_LAB_PEERS` names a folder of existing environments. Throws if pip fails.
 */
export async function newestPython(name: string): Promise<string> {
	const { REASONING_LAB_PEERS: named } = process.env;
	if (named) return join(named, name, 'bin/python');
	const { whole, alone } = packagesOf(name);
	const facts = execFileSync('python3', ['-c', 'import sys; print(sys.version, sys.base_prefix)'], {
		encoding: 'utf8',
	});
	const releases = [...whole, ...alone].map(newestOf).join('\n');
	const key = createHash('sha256').update(facts).update(whole.join()).update(releases).digest('hex').slice(0, 16);
	const log = join(artifacts, `newest-${name}-install.log`);
	const folder = await sharedFolder({
		kind: `newest-${name}`,
		key,
		what: `the environment ${name} with the newest releases of other programs`,
		say: console.error,
		async make(folder, signal) {
			const python = join(folder, 'bin/python');
			const step = async (command: string, args: readonly string[]) => {
				const code = await run(command, args, { log, signal, timeoutSeconds: 3600 });
				if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: see ${log}`);
			};
			const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
			await step('python3', ['-m', 'venv', folder]);
			// Install torch first: when resolving everything together, pip may choose a different build.
			const torch = whole.find((line) => line.startsWith('torch=='));
			if (torch !== undefined) await step(python, [...pip, torch]);
			await step(python, [...pip, ...whole]);
			if (alone.length > 0) await step(python, [...pip, '--no-deps', ...alone]);
		},
	});
	return join(folder, 'bin/python');
}
