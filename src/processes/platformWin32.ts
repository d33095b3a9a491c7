import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Platform } from './platform.ts';

const execute = promisify(execFile);

async function powershell(script: string): Promise<string> {
	const { stdout } = await execute('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', script], {
		windowsHide: true,
	});
	return stdout.trim();
}

function localData(environment: NodeJS.ProcessEnv): string {
	return environment.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local');
}

export const platformWin32: Platform = {
	bootId: () => powershell('(Get-CimInstance Win32_OperatingSystem).LastBootUpTime.ToFileTimeUtc()'),
	async processStart(pid) {
		try {
			return (await powershell(`(Get-Process -Id ${Number(pid)}).StartTime.ToFileTimeUtc()`)) || null;
		} catch {
			return null;
		}
	},
	dataFolder: (environment) => join(localData(environment), 'reasoning-lab'),
	runtimeFolders: (environment) => [join(localData(environment), 'reasoning-lab', 'runtime')],
	// Named pipes have no folder, so include the user-specific runtime folder in the name.
	socketPath: (folder, name) =>
		`\\\\.\\pipe\\reasoning-lab-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}-${name}`,
	hasFileOwners: false,
};
