import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { engineEnvironment } from '../runs/launchEngine.ts';
import type { RewardPrograms } from './rewardRunner.ts';

const execute = promisify(execFile);

export interface ProgramChoice {
	/** Path to Node set by the user. Default: this process's executable, with Electron running as Node. */
	readonly node?: string | null;
	/** Path to Python from the Python extension or a setting. Default: python3, or py or python on Windows. */
	readonly python?: string | null;
}

/**
 * Returns the programs that run reward files. Does not validate them: a missing or outdated program is detected when a
 * host is started with it, and only callers that need it get an error (`unavailable`).
 */
export async function findRewardPrograms(choice: ProgramChoice = {}): Promise<RewardPrograms> {
	const electron = process.versions.electron !== undefined;
	const node = choice.node || null;
	return {
		node: node ?? process.execPath,
		nodeEnvironment: node === null && electron ? { ELECTRON_RUN_AS_NODE: '1' } : {},
		python: await realPython(choice.python ? [choice.python] : defaultPythons()),
	};
}

function defaultPythons(): string[] {
	return process.platform === 'win32' ? ['py', 'python', 'python3'] : ['python3', 'python'];
}

/** Resolves a name to the actual interpreter, because version manager shims take longer to start than Python itself. */
async function realPython(names: readonly string[]): Promise<string> {
	for (const name of names) {
		try {
			const { stdout } = await execute(name, ['-c', 'import sys; print(sys.executable)'], {
				timeout: 20_000,
				windowsHide: true,
				env: engineEnvironment(),
			});
			const path = stdout.trim();
			if (path !== '') return path;
		} catch {
			// Try the next name. If there is none, starting a host reports what is missing.
		}
	}
	return names[0] as string;
}
