import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../scripts/paths.ts';

/**
 * Runs the built command line until it exits and returns its output. Throws if it fails.
 * @param home contains a folder `r` that only its owner can open
 */
export async function lab(folder: string, home: string, ...args: string[]): Promise<string> {
	const child = spawn(process.execPath, [join(root, 'dist/cli.js'), ...args], {
		cwd: folder,
		env: { ...process.env, REASONING_LAB_HOME: join(home, 'home'), XDG_RUNTIME_DIR: join(home, 'r') },
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let text = '';
	child.stdout.setEncoding('utf8').on('data', (part: string) => {
		text += part;
	});
	const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
	assert.equal(code, 0, `${args[0]} ended with ${code}: ${text.slice(-2000)}`);
	return text;
}
