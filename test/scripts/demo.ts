/**
 * `npm run demo [-- FOLDER]`: creates the demo project, starts its run, and opens it in VS Code, or in a browser
 * workbench on loopback if VS Code is not installed. `npm run demo -- --headless [--seed S] [--control shuffle]`: runs
 * the same recipe in this terminal and prints one line of JSON at the end.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildIfStale } from './build.ts';
import { cache, keptPackage, node, root } from './paths.ts';
import { attached, run as execute } from './process.ts';
import { readArguments } from './readArguments.ts';
import { installCodeServer, installTypescript } from './workbench/install.ts';
import { serveLogin } from './workbench/login.ts';
import { Server } from './workbench/server.ts';

const recipe = 'addition.recipe.json';

const usage = `npm run demo [-- FOLDER] [options]

  --headless          Train in this terminal; ends with one line of JSON.
  --seed N            Seed for all randomness in the run.
  --control shuffle   Permute the advantages, so that the run cannot learn.
  --set KEY=VALUE     Override a recipe key; can be repeated.
  --browser           Use the browser workbench even if VS Code is installed.
  --port N            Port of the browser workbench.
  --no-open           Print the address; open no browser.`;

const { values, positionals } = readArguments(
	{
		allowPositionals: true,
		options: {
			headless: { type: 'boolean', default: false },
			seed: { type: 'string' },
			control: { type: 'string' },
			set: { type: 'string', multiple: true, default: [] },
			browser: { type: 'boolean', default: false },
			port: { type: 'string' },
			'no-open': { type: 'boolean', default: false },
			help: { type: 'boolean', default: false },
		},
	},
	usage,
);

/** Returns the project folder after adding any missing template files. */
function makeProject(): string {
	const folder = resolve(process.env.INIT_CWD ?? '.', positionals[0] ?? join(cache, 'demo'));
	mkdirSync(folder, { recursive: true });
	if (!existsSync(join(folder, recipe))) {
		cpSync(join(root, 'media/templates/demo'), folder, { recursive: true, force: false });
		const ignore = join(folder, 'gitignore');
		if (existsSync(ignore)) renameSync(ignore, join(folder, '.gitignore'));
	}
	return folder;
}

const changes = [
	...(values.seed === undefined ? [] : ['--seed', values.seed]),
	...(values.control === undefined ? [] : ['--control', values.control]),
	...values.set.flatMap((change) => ['--set', change]),
];

function headless(folder: string): Promise<number> {
	return attached(node, [join(root, 'dist/cli.js'), 'run', join(folder, recipe), '--summary', ...changes]);
}

/** Starts the run unless one is already running in this project, and resolves with its folder. */
async function startRun(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
	const options = { cwd: folder, env };
	const cli = join(root, 'dist/cli.js');
	const status = await promisify(execFile)(node, [cli, 'status', '--json'], options);
	const live = (JSON.parse(status.stdout) as { runs: { folder: string; status: string }[] }).runs.find(
		(run) => ['starting', 'running', 'paused'].includes(run.status) && dirname(dirname(run.folder)) === folder,
	);
	if (live !== undefined) return live.folder;
	const args = [cli, 'run', join(folder, recipe), '--detach', '--json', ...changes];
	const { stdout } = await promisify(execFile)(node, args, options);
	const lines: { kind: string; folder?: string }[] = stdout
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	const started = lines.find(({ kind }) => kind === 'started')?.folder;
	if (started === undefined) throw new Error(`The CLI did not print the run folder: ${stdout}`);
	return started;
}

/** Finds the desktop launcher. A remote terminal's launcher cannot load an extension from a folder. */
function findCode(): string | undefined {
	for (const folder of (process.env.PATH ?? '').split(delimiter)) {
		if (folder === '' || folder.includes('remote-cli')) continue;
		for (const name of process.platform === 'win32' ? ['code.cmd'] : ['code', 'code-insiders']) {
			const path = join(folder, name);
			if (existsSync(path)) return path;
		}
	}
	return undefined;
}

async function inDesktop(code: string, folder: string): Promise<number> {
	const run = await startRun(folder, process.env);
	console.log(`Run: ${run}\nOpening ${folder} in VS Code (${code}).`);
	const child = spawn(code, ['--new-window', `--extensionDevelopmentPath=${root}`, folder], {
		stdio: 'inherit',
		env: { ...process.env, REASONING_LAB_OPEN: run },
		shell: process.platform === 'win32',
	});
	return new Promise((done) => child.on('exit', (code) => done(code ?? 1)));
}

async function inBrowser(folder: string): Promise<number> {
	const entry = await installCodeServer(console.log);
	const log = join(cache, 'demo-package.log');
	const code = await execute(node, [join(root, 'test/scripts/package.ts'), '--if-stale'], { log });
	if (code !== 0) throw new Error(`Cannot package the extension; see ${log}.`);
	// The run belongs to the user, so its registry entry and control socket must be where their shell finds them.
	const { XDG_DATA_HOME, XDG_RUNTIME_DIR } = process.env;
	const run = await startRun(folder, process.env);
	const tsdk = await installTypescript(entry, console.log);
	const server = new Server({
		entry,
		log: join(cache, 'demo-workbench.log'),
		home: join(cache, `demo-workbench-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`),
		...(values.port === undefined ? {} : { port: Number(values.port) }),
		settings: { 'js/ts.tsdk.path': tsdk, 'typescript.tsdk': tsdk },
		env: { XDG_DATA_HOME, XDG_RUNTIME_DIR, REASONING_LAB_OPEN: run },
	});
	await server.installExtension(keptPackage);
	await server.start();
	const login = await serveLogin(server, folder);
	console.log(`
Run:      ${run}
Open:     ${login.url}
          (or ${server.origin} with the password ${server.password})
The run continues without the workbench. Ctrl+C ends the workbench; this stops the run:
          npm run cli -- stop ${run}`);
	if (!values['no-open']) openBrowser(login.url);
	const interrupted = new Promise<void>((done) => {
		process.once('SIGINT', () => done());
		process.once('SIGTERM', () => done());
	});
	await Promise.race([interrupted, server.ended()]);
	login.close();
	await server.dispose();
	return 0;
}

/** Opens the address in a browser if there is a desktop. */
function openBrowser(url: string): void {
	const { platform, env } = process;
	if (platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY) return;
	const opener = spawn(platform === 'darwin' ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
	opener.on('error', () => undefined); // the address is also printed
	opener.unref();
}

async function main(): Promise<number> {
	if (values.help) {
		console.log(usage);
		return 0;
	}
	await buildIfStale();
	const folder = makeProject();
	if (values.headless) return headless(folder);
	const code = values.browser ? undefined : findCode();
	return code === undefined ? inBrowser(folder) : inDesktop(code, folder);
}

try {
	process.exitCode = await main();
} catch (error) {
	const { stderr, message } = error as { stderr?: string; message: string };
	console.error(stderr?.trim() || message);
	console.error(`The demo did not start. Logs: ${relative(process.cwd(), cache) || cache}`);
	process.exitCode = 1;
}
