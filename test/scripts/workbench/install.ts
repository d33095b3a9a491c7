/**
 * Installs the browser workbench for tests and the demo on demand: code-server (VS Code's own server and web client)
 * from npm. The required native modules are prebuilt, so install scripts stay disabled and neither root nor a compiler
 * is needed. If there is a compiler, two more modules are built, without which output channels stay empty.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cache, node } from '../paths.ts';
import { run, tail } from '../process.ts';
import { sharedFolder } from '../sharedCache.ts';

/** code-server 4.139.1 corresponds to VS Code 1.139.1. */
export const version = '4.139.1';

/** Returns the path of code-server's entry script, installing it if necessary (about 600 MB, half a minute). */
export async function installCodeServer(say: (line: string) => void): Promise<string> {
	if (process.platform === 'win32') {
		throw new Error('The browser workbench does not run on Windows. Install VS Code instead.');
	}
	const folder = await sharedFolder({
		kind: 'code-server',
		// Its native modules are built for a specific Node version.
		key: `${version}-node-${process.versions.node}-${process.platform}-${process.arch}`,
		what: 'the browser workbench',
		make: (folder, signal) => install(folder, { signal, say, log: join(cache, 'code-server-install.log') }),
		say,
	});
	return join(folder, 'node_modules/code-server/out/node/entry.js');
}

/**
 * Returns the folder with the TypeScript version that the workbench's own extensions need. code-server installs it with
 * a script, but scripts are disabled; without it, opening the first TypeScript file shows "tsserver was deleted by
 * another application".
 *
 * @param entry code-server's entry script
 */
export async function installTypescript(entry: string, say: (line: string) => void): Promise<string> {
	const wanted = join(dirname(entry), '../../lib/vscode/extensions/package.json');
	const { dependencies } = JSON.parse(readFileSync(wanted, 'utf8')) as { dependencies?: Record<string, string> };
	const range = dependencies?.typescript;
	if (range === undefined) throw new Error(`${wanted} no longer depends on TypeScript.`);
	const folder = await sharedFolder({
		kind: 'workbench-typescript',
		key: range.replace(/[^\w.-]+/g, '_'),
		what: "the workbench's TypeScript",
		make: async (made, signal) => {
			makeProject(made);
			const log = join(cache, 'workbench-typescript-install.log');
			await npm(['install', `typescript@${range}`, '--ignore-scripts'], made, { signal, say, log });
		},
		say,
	});
	return join(folder, 'node_modules/typescript/lib');
}

interface Installing {
	readonly signal: AbortSignal;
	readonly say: (line: string) => void;
	readonly log: string;
}

async function install(folder: string, options: Installing): Promise<void> {
	const { say, log } = options;
	say(`Installing the browser workbench (code-server ${version}) into ${folder}`);
	makeProject(folder);
	rmSync(log, { force: true });
	const server = join(folder, 'node_modules/code-server/lib/vscode');
	await npm(['install', `code-server@${version}`, '--ignore-scripts'], folder, options);
	await npm(['install', '--ignore-scripts'], server, options);
	if (!(await buildLogWriter(join(folder, 'headers'), server, options))) {
		say(`Cannot build its log writer (see ${log}): output channels will stay empty.`);
	}
}

/** Builds with the headers included in the npm package of the current Node. */
async function buildLogWriter(folder: string, server: string, options: Installing): Promise<boolean> {
	const { platform, arch } = process;
	const name = `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
	try {
		makeProject(folder);
		await npm(['install', `${name}@${process.versions.node}`, '--ignore-scripts'], folder, options);
		const nodeFolder = join(folder, 'node_modules', name);
		await npm(['rebuild', '@vscode/spdlog', '@vscode/native-watchdog'], server, options, {
			npm_config_nodedir: nodeFolder,
		});
		return true;
	} catch {
		options.signal.throwIfAborted();
		return false;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Creates a folder that npm installs into, so that it does not use a parent folder. */
function makeProject(folder: string): void {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
}

async function npm(
	args: readonly string[],
	cwd: string,
	{ signal, log }: Installing,
	more: Readonly<Record<string, string>> = {},
): Promise<void> {
	signal.throwIfAborted();
	const cli = process.env.npm_execpath;
	const [command, prefix] = cli?.endsWith('.js') ? [node, [cli]] : ['npm', []];
	const options = ['--omit=dev', '--no-audit', '--no-fund', '--no-save'];
	const env = { PATH: `${dirname(node)}:${process.env.PATH ?? ''}`, npm_config_global: undefined, ...more };
	const code = await run(command, [...prefix, ...args, ...options], { cwd, log, env, signal, timeoutSeconds: 900 });
	signal.throwIfAborted();
	if (code !== 0) throw new Error(`npm ${args.join(' ')} failed in ${cwd}; its log is ${log}:\n${tail(log, 15)}`);
}
