import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { engineEnvironment } from '../runs/launchEngine.ts';
import type { RewardPrograms } from './rewardRunner.ts';

const execute = promisify(execFile);

export interface ProgramChoice {
	/** Node as the user has set it; default: the program of this process, Electron told to be Node. */
	readonly node?: string | null;
	/** Python as the Python extension or a setting names it; default: python3, on Windows py or python. */
	readonly python?: string | null;
}

/**
 * The programs that run reward files. Nothing is refused here: whether a program is there and new enough shows when a host
 * is started with it, and only who needs it hears of it (`unavailable`).
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

/** The interpreter behind a name: shims of version managers take longer to start than Python does. */
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
			// The next one; if there is none, the start of a host says what is missing.
		}
	}
	return names[0] as string;
}
