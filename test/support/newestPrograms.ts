/** The newest releases of other programs that pip can install. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/paths.ts';
import { existingPython, pipEnvironment, requirementsIn } from './pipEnvironment.ts';

const folderOf = join(root, 'test/acceptance/formats');

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
 * Returns the Python of an environment, which is recreated if one of its packages has a newer release. Packages in its
 * file after "# without dependencies" are installed only for their sources. `REASONING_LAB_PEERS` names a folder of
 * existing environments. Throws if pip fails.
 */
export async function newestPython(name: string): Promise<string> {
	const existing = existingPython(name);
	if (existing !== null) return existing;
	const [whole = '', only = ''] = readFileSync(join(folderOf, `${name}.txt`), 'utf8').split('# without dependencies\n');
	const [packages, alone] = [requirementsIn(whole), requirementsIn(only)];
	return pipEnvironment({
		kind: `newest-${name}`,
		what: `the environment ${name} with the newest releases of other programs`,
		packages,
		alone,
		key: [packages.join(), [...packages, ...alone].map(newestOf).join('\n')],
	});
}
