/** The programs that others wrote and that speak to this one, as they are published: environments that pip makes for them. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts, root } from '../scripts/paths.ts';
import { run } from '../scripts/process.ts';
import { sharedFolder } from '../scripts/sharedCache.ts';

/**
 * `clients`: most of them; `inspect`: inspect-ai, which wants another version of openai than litellm does; `verifiers` and `trl`,
 * each with what it asks for.
 */
export type PeerEnvironment = 'clients' | 'inspect' | 'verifiers' | 'trl';

const folderOf = join(root, 'test/acceptance/peers');

/**
 * The Python of an environment, in a folder that all clones share; it is made where it is missing. `REASONING_LAB_PEERS` names a
 * folder with environments that are there already. Fails where pip does.
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
			// torch by itself first: a resolver that sees everything at once may look for another build of it.
			const torch = /^torch==.*$/m.exec(readFileSync(requirements, 'utf8'))?.[0];
			if (torch !== undefined) await step(python, [...pip, torch]);
			await step(python, [...pip, '-r', requirements]);
		},
	});
	return join(folder, 'bin/python');
}

/** Runs a script of `test/acceptance/peers` (or another by its path); the last line that it prints, as JSON. */
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
