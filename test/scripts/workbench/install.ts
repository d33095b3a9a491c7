/**
 * The browser workbench of tests and demo: code-server (VS Code's own server and web client), from npm, on demand.
 * Every native module that is needed comes prebuilt, so install scripts stay off: no compiler, no headers, no root.
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
	mkdirSync(partial, { recursive: true });
	writeFileSync(join(partial, 'package.json'), '{ "private": true }\n');
	const log = join(cache, 'code-server-install.log');
	rmSync(log, { force: true });
	const server = join(partial, 'node_modules/code-server/lib/vscode');
	await npm(['install', `code-server@${version}`], partial, log);
	await npm(['install'], server, log);
	renameSync(partial, folder);
	return entry;
}

async function npm(args: readonly string[], cwd: string, log: string): Promise<void> {
	const cli = process.env.npm_execpath;
	const [command, prefix] = cli?.endsWith('.js') ? [node, [cli]] : ['npm', []];
	const options = ['--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--no-save'];
	const env = { PATH: `${dirname(node)}:${process.env.PATH ?? ''}`, npm_config_global: undefined };
	const code = await run(command, [...prefix, ...args, ...options], { cwd, log, env, timeoutSeconds: 900 });
	if (code !== 0) throw new Error(`npm ${args.join(' ')} failed in ${cwd}; its log is ${log}:\n${tail(log, 15)}`);
}
