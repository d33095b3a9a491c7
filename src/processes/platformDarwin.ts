import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Platform } from './platform.ts';

const execute = promisify(execFile);

export const platformDarwin: Platform = {
	async bootId() {
		const { stdout } = await execute('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']);
		return stdout.trim();
	},
	async processStart(pid) {
		try {
			const { stdout } = await execute('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
				env: { LC_ALL: 'C', TZ: 'UTC' },
			});
			const text = stdout.trim();
			if (text === '' || text.startsWith('Z')) return null;
			return text.replace(/^\S+\s+/, '').replace(/\s+/g, ' ');
		} catch {
			return null;
		}
	},
	dataFolder: () => join(homedir(), 'Library', 'Application Support', 'reasoning-lab'),
	// Avoid $TMPDIR: it is long, and differs between login shells and launched apps.
	runtimeFolders: () => [`/tmp/reasoning-lab-${process.getuid?.() ?? 0}`],
	socketPath: (folder, name) => join(folder, `${name}.sock`),
	hasFileOwners: true,
};
