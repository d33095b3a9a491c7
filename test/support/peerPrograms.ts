/** Third-party programs that interact with ours, in their published versions, in environments created by pip. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts, root } from '../scripts/paths.ts';
import { run } from '../scripts/process.ts';
import { sharedFolder } from '../scripts/sharedCache.ts';

/**
 * `clients`: most of them; `inspect`: inspect-ai, which needs a different openai version than litellm; `verifiers`,
 * `trl` and `openenv`, each with its own requirements.
 */
export type PeerEnvironment = 'clients' | 'inspect' | 'verifiers' | 'trl' | 'openenv';

const folderOf = join(root, 'test/acceptance/peers');

/**
 * Returns the Python of an environment in a folder shared by all clones, creating it if necessary.
 * `REASONING_LAB_PEERS` names a folder of existing environments. Throws if pip fails.
 */
export async function peerPython(name: PeerEnvironment): Promise<string> {
	const { REASONING_LAB_PEERS: named } = process.env;
	if (named) return join(named, name, 'bin/python');
	const requirements = join(folderOf, `${name}.txt`);
	const facts = execFileSync('python3', ['-c', 'import sys; print(sys.version, sys.base_prefix)'], {
		encoding: 'utf8',
	});
	const key = createHash('sha256').update(facts).update(readFileSync(requirements)).digest('hex').slice(0, 16);
	const log = join(artifacts, `peers-${name}-install.log`);
	const folder = await sharedFolder({
		kind: `peers-${name}`,
		key,
		what: `the environment ${name} of other programs`,
		say: console.error,
		async make(folder, signal) {
			const python = join(folder, 'bin/python');
			const step = async (command: string, args: readonly string[]) => {
				const code = await run(command, args, { log, signal, timeoutSeconds: 3600 });
				if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: see ${log}`);
			};
			await step('python3', ['-m', 'venv', folder]);
			const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
			// Install torch first: when resolving everything together, pip may choose a different build.
			const torch = /^torch==.*$/m.exec(readFileSync(requirements, 'utf8'))?.[0];
			if (torch !== undefined) await step(python, [...pip, torch]);
			await step(python, [...pip, '-r', requirements]);
		},
	});
	return join(folder, 'bin/python');
}

/** Runs a script in `test/acceptance/peers` (or another one by path) and parses its last line of output as JSON. */
export async function runPeer(
	python: string,
	script: string,
	args: readonly string[],
	env: Readonly<Record<string, string>> = {},
	input = '',
): Promise<unknown> {
	const child = spawn(python, [join(folderOf, script), ...args], {
		env: { ...process.env, OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', ...env },
		stdio: ['pipe', 'pipe', 'pipe'],
	});
	let [out, err] = ['', ''];
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		out += text;
	});
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		err += text;
	});
	child.stdin.end(input);
	const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
	if (code !== 0) throw new Error(`${script} ended with ${code}:\n${(out + err).slice(-4000)}`);
	return JSON.parse(out.trim().split('\n').at(-1) ?? '');
}
