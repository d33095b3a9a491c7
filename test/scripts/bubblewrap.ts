/** Finds bubblewrap for the sandbox suites: the installed one, or the distribution's package if root can install it. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts } from './paths.ts';
import { run } from './process.ts';

/** @returns why it is missing, or null if it is available */
export async function findBubblewrap(say: (line: string) => void): Promise<string | null> {
	if (process.platform !== 'linux') return 'bubblewrap only works on Linux';
	if (isInstalled()) return null;
	const log = join(artifacts, 'bubblewrap-install.log');
	const command = 'apt-get install -y bubblewrap';
	if (existsSync('/usr/bin/apt-get') && process.getuid?.() === 0) {
		say(`bubblewrap is not installed: installing it as root (${command})`);
		const env = { DEBIAN_FRONTEND: 'noninteractive' };
		await run('apt-get', ['update', '-qq'], { log, env, timeoutSeconds: 300 });
		await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'bubblewrap'], {
			log,
			env,
			timeoutSeconds: 300,
		});
		if (isInstalled()) return null;
		return `bubblewrap could not be installed (log: ${log})`;
	}
	return `bubblewrap is not installed. Run \`sudo ${command}\``;
}

const isInstalled = () => spawnSync('bwrap', ['--version'], { stdio: 'ignore' }).status === 0;
