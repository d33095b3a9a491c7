/**
 * The browser workbench of tests and demo: code-server (VS Code's own server and web client), from npm, on demand.
 * The native modules that it cannot do without come prebuilt, so its install scripts stay off and neither root nor a
 * compiler is needed. Where a compiler is there, two more are built: without them output channels stay empty.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cache, node } from '../paths.ts';
import { run, tail } from '../process.ts';

/** code-server 4.139.1 is VS Code 1.139.1. */
export const version = '4.139.1';
const folder = join(cache, `code-server-${version}`);

/** Path of code-server's entry script. Installs it where it is missing (about 600 MB, half a minute). */
export async function installCodeServer(say: (line: string) => void): Promise<string> {
	const entry = join(folder, 'node_modules/code-server/out/node/entry.js');
	if (existsSync(entry)) return entry;
	if (process.platform === 'win32') {
		throw new Error('The browser workbench does not run on Windows. Install VS Code and use that.');
	}
	say(`Installing the browser workbench (code-server ${version}) into ${folder}`);
	const partial = `${folder}.partial`;
	rmSync(partial, { recursive: true, force: true });
	makeProject(partial);
	const log = join(cache, 'code-server-install.log');
	rmSync(log, { force: true });
	const server = join(partial, 'node_modules/code-server/lib/vscode');
	await npm(['install', `code-server@${version}`, '--ignore-scripts'], partial, log);
	await npm(['install', '--ignore-scripts'], server, log);
	if (!(await buildLogWriter(join(partial, 'headers'), server, log))) {
		say(`Its log writer could not be built (see ${log}): output channels will stay empty.`);
	}
	renameSync(partial, folder);
	return entry;
}

/** Builds with the headers of this very Node, which its npm package carries. */
async function buildLogWriter(folder: string, server: string, log: string): Promise<boolean> {
	const { platform, arch } = process;
	const name = `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
	try {
		makeProject(folder);
		await npm(['install', `${name}@${process.versions.node}`, '--ignore-scripts'], folder, log);
		const nodeFolder = join(folder, 'node_modules', name);
		await npm(['rebuild', '@vscode/spdlog', '@vscode/native-watchdog'], server, log, {
			npm_config_nodedir: nodeFolder,
		});
		return true;
	} catch {
		return false;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** A folder that npm installs into, and not into one above it. */
function makeProject(folder: string): void {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
}

async function npm(
	args: readonly string[],
	cwd: string,
	log: string,
	more: Readonly<Record<string, string>> = {},
): Promise<void> {
	const cli = process.env.npm_execpath;
	const [command, prefix] = cli?.endsWith('.js') ? [node, [cli]] : ['npm', []];
	const options = ['--omit=dev', '--no-audit', '--no-fund', '--no-save'];
	const env = { PATH: `${dirname(node)}:${process.env.PATH ?? ''}`, npm_config_global: undefined, ...more };
	const code = await run(command, [...prefix, ...args, ...options], { cwd, log, env, timeoutSeconds: 900 });
	if (code !== 0) throw new Error(`npm ${args.join(' ')} failed in ${cwd}; its log is ${log}:\n${tail(log, 15)}`);
}
