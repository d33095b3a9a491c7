// @reaches trainerRequirements trainer
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Failure } from '../../src/base/failure.ts';
import { environmentState } from '../../src/environment/environmentState.ts';
import { ManagedFolder } from '../../src/environment/managedFolder.ts';
import { programOf } from '../../src/environment/pythons/interpreter.ts';
import {
	prepareSetup,
	removeEnvironment,
	type SetupOptions,
	type SetupProgress,
	setUpEnvironment,
} from '../../src/environment/setup/setUpEnvironment.ts';
import type { SetupPlan } from '../../src/environment/setup/setupPlan.ts';
import { removeUnusedEnvironments } from '../../src/environment/setup/unusedEnvironments.ts';
import { torchPython } from '../../src/environment/torchPython.ts';
import { tinyTorch, tinyTrl, writeWheel } from '../support/wheels.ts';
import { basePython } from './basePython.ts';

const python = await basePython();
const skip = python === null ? 'no Python that can create environments was found' : false;
let work: string;
let wheels: string;
/** A Python that creates its first environment normally, and all others as copies of it. */
let copying: string;

/** Uses wheels of a few hundred bytes in place of torch and TRL. The installation and the installers are real. */
before(async () => {
	work = await mkdtemp(join(tmpdir(), 'rl-s-'));
	wheels = join(work, 'wheels');
	await mkdir(wheels);
	await writeWheel(wheels, 'torch', '2.13.0+cpu', { 'torch/__init__.py': tinyTorch });
	await writeWheel(wheels, 'trl', '1.13.0', { 'trl/__init__.py': tinyTrl });
	if (python !== null) copying = await copyingPython(python);
});
after(() => rm(work, { recursive: true, force: true, maxRetries: 5 }));

async function requirements(...pins: string[]): Promise<string> {
	const folder = await mkdtemp(join(work, 'r-'));
	await writeFile(join(folder, 'base.txt'), `# What a test installs\n${pins.join('\n')}\n`);
	return folder;
}

async function options(changes: Partial<SetupOptions> & { readonly pins?: string[]; readonly links?: string } = {}) {
	const { pins = ['torch==2.13.0', 'trl==1.13.0'], links = wheels, ...rest } = changes;
	return {
		...{ folder: new ManagedFolder(await mkdtemp(join(work, 'f-'))), version: '9.9.9', python: copying, extras: [] },
		requirements: await requirements(...pins),
		choices: {
			...({ device: 'cpu', installer: 'pip', indexUrl: null } as const),
			pipArguments: ['--no-index', '--find-links', links],
		},
		...rest,
	} satisfies SetupOptions;
}

const environments = (folder: ManagedFolder) => readdir(folder.environments);
const newestLog = async (folder: ManagedFolder) =>
	readFile(join(folder.logs, (await readdir(folder.logs)).sort().at(-1) ?? ''), 'utf8');

describe('PyTorch engine setup', { skip }, () => {
	it('installs the pinned versions and uses them as soon as they work', async () => {
		const setup = await options();
		const { folder } = setup;
		// Leftovers from a killed setup.
		await mkdir(join(folder.environments, 'left', 'bin'), { recursive: true });
		await assert.rejects(torchPython({ folder: folder.path, variables: {} }), { reason: 'missing' });
		const progress: SetupProgress[] = [];
		const plans: SetupPlan[] = [];
		const result = await setUpEnvironment(setup, {
			onPlan: (plan) => plans.push(plan),
			onProgress: (news) => progress.push(news),
		});
		assert.deepEqual(await torchPython({ folder: folder.path, variables: {} }), {
			...{ python: result.python, source: 'managed' },
		});
		assert.equal(result.probe.torch?.version, '2.13.0+cpu');
		assert.deepEqual(result.record.pins, ['torch==2.13.0', 'trl==1.13.0']);
		assert.deepEqual([result.record.build, result.notes], ['cpu', []]);
		assert.deepEqual(await environments(folder), [result.record.folder]);
		const state = await environmentState(folder, setup.requirements);
		assert.ok(state.kind === 'ready' && state.outdated.length === 0);
		const shares = progress.map(({ fraction }) => fraction);
		assert.deepEqual(
			shares,
			shares.toSorted((a, b) => a - b),
		);
		assert.equal(shares.at(-1), 1);
		assert.ok(progress.some(({ message }) => message.startsWith('Installing torch')));
		assert.equal(plans.length, 1);
		const log = await newestLog(folder);
		// The index offers the build under its name.
		assert.match(
			log,
			/-m venv .*\n[\s\S]*-m pip install .* torch==2\.13\.0\+cpu .*\n[\s\S]*Successfully installed torch-2\.13\.0/,
		);
		assert.match(log, /Ready after/);

		// An update changes a pin.
		const newer = await requirements('torch==2.14.0', 'trl==1.13.0');
		const outdated = await environmentState(folder, newer);
		assert.deepEqual(outdated.kind === 'ready' && outdated.outdated, ['torch 2.13.0 -> 2.14.0']);
	});

	it('reports that the index offers another build, and records the build that torch reports', async () => {
		const other = await mkdtemp(join(work, 'other-'));
		const cuda = tinyTorch.replace('"2.13.0+cpu"', '"2.13.0"').replace('cuda = None', 'cuda = "13.0"');
		await writeWheel(other, 'torch', '2.13.0', { 'torch/__init__.py': cuda });
		// The index has only this build. Setup reports it with its size before installing it, and again afterwards.
		const only = await options({ pins: ['torch==2.13.0'], links: other });
		const { plan } = await prepareSetup(only);
		assert.match(plan.notes.join(), /the package index provides the CUDA 13\.0 build of torch/);
		assert.ok(plan.downloadBytes > 2.5e9);
		// The space actually available would be enough for the wheels in this test.
		const taken = await setUpEnvironment({ ...only, requirements: await requirements('torch==2.13.0') }).catch(
			(error: unknown) => Failure.from(error),
		);
		if (!(taken instanceof Failure)) {
			assert.equal(taken.record.build, 'cu130');
			assert.match(taken.notes.join(), /provided the CUDA 13\.0 build of torch instead of the CPU build/);
		} else assert.equal(taken.reason, 'full');
	});

	it('leaves no pip process behind when it is killed', {
		skip: process.platform === 'win32',
	}, async (context) => {
		const index = await silentIndex(context);
		const folder = await mkdtemp(join(work, 'k-'));
		const pins = await requirements('silent==1.0');
		const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
		const args = ['setup-pytorch', '--folder', folder, '--requirements', pins, '--python', copying];
		const more = ['--device', 'cpu', '--installer', 'pip', '--index-url', index.url, '--pip-argument=--no-cache-dir'];
		const child = spawn(process.execPath, [cli, ...args, ...more], { stdio: 'ignore' });
		const exit = once(child, 'exit');
		const asked = await Promise.race([index.asked, exit.then(() => null)]);
		assert.ok(asked !== null, 'setup ended before it installed anything');
		const closed = once(asked, 'close');
		child.kill('SIGKILL');
		await exit;
		// The connection is closed, so pip's process is gone.
		await closed;
	});

	it('removes an older environment when no process uses it', async () => {
		const folder = new ManagedFolder(await mkdtemp(join(work, 'f-')));
		const older = join(folder.environments, 'older');
		execFileSync(python as string, ['-m', 'venv', '--without-pip', older]);
		const running = spawn(programOf(older), ['-c', 'print("up", flush=True); input()'], {
			stdio: ['pipe', 'pipe', 'inherit'],
		});
		await once(running.stdout, 'data');
		assert.deepEqual(await removeUnusedEnvironments(folder.environments, null), ['older']);
		running.stdin.end('\n');
		await once(running, 'exit');
		assert.deepEqual(await removeEnvironment(folder), []);
		assert.deepEqual(await environments(folder), []);
	});

	it('rolls back an installation that does not work and keeps the one in use', async () => {
		const broken = await mkdtemp(join(work, 'b-'));
		await writeWheel(broken, 'trl', '1.13.0', {
			'trl/__init__.py': 'raise ImportError("libcudart.so.13 is missing")',
		});
		const setup = await options({ pins: ['trl==1.13.0'], links: broken });
		const inUse = await inUseOf(setup.folder);
		await assert.rejects(setUpEnvironment(setup), {
			...{ reason: 'corrupt', message: /importing trl failed with ImportError: libcudart\.so\.13 is missing/ },
		});
		assert.deepEqual(await environments(setup.folder), ['used']);
		assert.equal((await torchPython({ folder: setup.folder.path, variables: {} })).python, inUse);
		assert.match(await newestLog(setup.folder), /Failed: The installation is broken/);

		// An interrupted download.
		const half = await mkdtemp(join(work, 'h-'));
		const wheel = await writeWheel(half, 'trl', '1.13.0', { 'trl/__init__.py': tinyTrl });
		await truncate(wheel, Math.floor((await stat(wheel)).size / 2));
		const choices = { ...setup.choices, pipArguments: ['--no-index', '--find-links', half] };
		await assert.rejects(setUpEnvironment({ ...setup, choices }), {
			reason: 'corrupt',
			message: /was interrupted or damaged/,
		});
		assert.deepEqual(await environments(setup.folder), ['used']);
	});

	it('cancellation kills all its processes, and no other setup can run at the same time', async (context) => {
		const index = await silentIndex(context);
		const abort = new AbortController();
		const setup = await options({ pins: ['silent==1.0'], signal: abort.signal });
		const choices = { ...setup.choices, indexUrl: index.url, pipArguments: ['--no-cache-dir', '--retries', '0'] };
		const work = setUpEnvironment({ ...setup, choices });
		const settled = work.then(
			() => null,
			(error: unknown) => Failure.from(error),
		);
		const asked = await Promise.race([index.asked, settled]);
		assert.ok(asked !== null && !(asked instanceof Failure), String(asked));
		await assert.rejects(setUpEnvironment(setup), {
			reason: 'busy',
			message: /PyTorch engine is already being set up/,
		});
		const [name] = await environments(setup.folder);
		assert.ok(name);
		const closed = once(asked, 'close');
		abort.abort();
		assert.equal((await settled)?.reason, 'cancelled');
		// The connection is closed, so its process was killed.
		await closed;
		assert.deepEqual(await environments(setup.folder), []);
		const log = await newestLog(setup.folder);
		assert.match(log, /Canceled\.\n$/);
		assert.doesNotMatch(log, /secret/);
	});

	it('reports too little disk space before it starts, and a full disk', async (context) => {
		const disk = await smallDisk(context, '32m');
		if (disk === null) return;
		const large = await options({
			folder: new ManagedFolder(join(disk, 'a')),
			pins: ['datasets'],
		});
		await assert.rejects(setUpEnvironment(large), {
			...{ reason: 'full', message: /^Setup needs about 445 MB in .*, but only 33\.6 MB is free\.$/ },
		});
		const heavy = await mkdtemp(join(work, 'w-'));
		await writeWheel(heavy, 'heavy', '1.0', { 'heavy/data.bin': Buffer.alloc(40e6) });
		const full = await options({ folder: new ManagedFolder(join(disk, 'b')), pins: ['heavy==1.0'], links: heavy });
		await assert.rejects(setUpEnvironment(full), {
			reason: 'full',
			message: /the disk is full/,
			action: /Free up disk space/,
		});
		assert.deepEqual(await environments(full.folder), []);
	});
});

/**
 * Returns a Python that creates one virtual environment and then copies it, because installing pip into each takes
 * seconds. On Windows, which runs no shell scripts, returns the given one.
 */
async function copyingPython(base: string): Promise<string> {
	if (process.platform === 'win32') return base;
	const template = join(work, 'template');
	const path = join(work, 'python3');
	const script = `#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
	[ -d '${template}' ] || { '${base}' "$@" && cp -Rp "$3" '${template}'; exit; }
	exec cp -Rp '${template}' "$3"
fi
exec '${base}' "$@"
`;
	await writeFile(path, script);
	await chmod(path, 0o755);
	return path;
}

/** Creates an environment that is in use. @returns its Python */
async function inUseOf(folder: ManagedFolder): Promise<string> {
	const place = join(folder.environments, 'used');
	execFileSync(python as string, ['-m', 'venv', '--without-pip', place]);
	const record = { format: 1, folder: 'used', version: '1', made: 1, python: '3', build: 'cpu', installer: 'pip' };
	await writeFile(folder.recordFile, JSON.stringify({ ...record, extras: [], pins: [] }));
	return programOf(place);
}

/** Starts a package index that lists a package but never sends it. */
async function silentIndex(
	context: TestContext,
): Promise<{ readonly url: string; readonly asked: Promise<ServerResponse> }> {
	let reply: (response: ServerResponse) => void;
	const asked = new Promise<ServerResponse>((resolve) => {
		reply = resolve;
	});
	const server = createServer((request, response) => {
		if (request.url?.endsWith('.whl')) {
			response.writeHead(200, { 'Content-Length': '1000000' });
			response.write('PK');
			reply(response);
			return;
		}
		const file = 'silent-1.0-py3-none-any.whl';
		response.writeHead(200, { 'Content-Type': 'text/html' });
		response.end(`<!DOCTYPE html><a href="/${file}">${file}</a>`);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	context.after(() => {
		server.closeAllConnections();
		server.close();
	});
	return { url: `http://me:secret@127.0.0.1:${(server.address() as AddressInfo).port}/simple`, asked };
}

async function smallDisk(context: TestContext, size: string): Promise<string | null> {
	const folder = await mkdtemp(join(work, 'd-'));
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' });
	} catch {
		context.skip('no small file system can be mounted here');
		return null;
	}
	context.after(() => execFileSync('umount', ['-l', folder]));
	return folder;
}
