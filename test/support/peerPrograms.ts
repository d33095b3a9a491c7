/** Third-party programs that interact with ours, in their published versions, in environments created by pip. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/paths.ts';
import { existingPython, pipEnvironment, requirementsIn } from './pipEnvironment.ts';

/**
 * `clients`: most of them; `inspect`: inspect-ai, which needs a different openai version than litellm; `verifiers`,
 * `trl` and `openenv`, each with its own requirements.
 */
export type PeerEnvironment = 'clients' | 'inspect' | 'verifiers' | 'trl' | 'openenv';

/** Modules that programs in `npm test` import. Their bytecode saves each of them several seconds of CPU time. */
const imports: Partial<Record<PeerEnvironment, readonly string[]>> = {
	openenv: ['openenv.core.env_server', 'openenv.core.generic_client', 'uvicorn'],
};

const folderOf = join(root, 'test/acceptance/peers');

/**
 * Returns the Python of an environment in a folder shared by all clones, creating it if necessary.
 * `REASONING_LAB_PEERS` names a folder of existing environments. Throws if pip fails.
 */
export async function peerPython(name: PeerEnvironment): Promise<string> {
	const existing = existingPython(name);
	if (existing !== null) return existing;
	const requirements = readFileSync(join(folderOf, `${name}.txt`), 'utf8');
	return pipEnvironment({
		kind: `peers-${name}`,
		what: `the environment ${name} of other programs`,
		packages: requirementsIn(requirements),
		imports: imports[name] ?? [],
		key: [requirements],
	});
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
