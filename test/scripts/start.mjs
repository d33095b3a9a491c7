// Runs one of the project's scripts with the project's own Node and with packages that match the lock file: node
// test/scripts/start.mjs SCRIPT [ARGUMENT...] Works on a bare clone with any Node from version 20: first installs
// packages that are missing or differ from package-lock.json. Imports only Node modules because nothing else may be
// installed yet.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const projectNode = join(root, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');

/**
 * Returns the reason to run `npm ci`, or undefined if every package in the lock file is installed in the right version.
 */
function missingPackages() {
	let installed;
	try {
		installed = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')).packages;
	} catch {
		return 'the packages are not installed';
	}
	const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
	for (const [path, entry] of Object.entries(locked)) {
		if (path === '' || entry.optional || entry.link) continue; // optional packages depend on the platform
		if (installed[path]?.version !== entry.version)
			return `${path.replace('node_modules/', '')} is not ${entry.version}`;
	}
	if (!existsSync(projectNode)) return 'Node 24 is missing';
	return undefined;
}

/** Returns the npm that runs this script, or otherwise the one on the PATH. */
function npmCommand() {
	const cli = process.env.npm_execpath;
	if (cli?.endsWith('.js')) return [process.execPath, [cli]];
	return [process.platform === 'win32' ? 'npm.cmd' : 'npm', []];
}

if (Number(process.versions.node.split('.')[0]) < 20) {
	console.error(`Node ${process.versions.node} is too old: install Node 20 or newer.`);
	process.exit(2);
}

const reason = missingPackages();
if (reason !== undefined) {
	console.error(`Installing packages (npm ci), because ${reason}.`);
	const [command, prefix] = npmCommand();
	// Suppress warnings about Node versions, because the tools will run on the project's own Node once it is installed.
	// Send npm's output to standard error, because a program may parse the script's standard output.
	const result = spawnSync(command, [...prefix, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
		cwd: root,
		stdio: ['ignore', 2, 2],
		shell: process.platform === 'win32' && prefix.length === 0,
	});
	const still = missingPackages();
	if (result.status !== 0 || still !== undefined) {
		console.error(`npm ci failed${still === undefined ? '' : ` (${still})`}. See its output above.`);
		process.exit(2);
	}
}

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
	console.error('Usage: node test/scripts/start.mjs SCRIPT [ARGUMENT...]');
	process.exit(2);
}
const child = spawn(projectNode, [resolve(root, script), ...args], {
	stdio: 'inherit',
	env: {
		...process.env,
		PATH: `${dirname(projectNode)}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`,
	},
});
// A terminal also sends Ctrl+C to the child, where a second signal would mean "stop immediately". Other senders only
// signal this process.
const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
process.on('SIGINT', () => onTerminal || child.kill('SIGINT'));
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
	console.error(`Could not start ${projectNode}: ${error.message}. Remove node_modules and try again.`);
	process.exit(2);
});
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
