import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { inheritedDescriptors, shutDescriptors } from '../../../src/processes/inheritedDescriptors.ts';
import { containerArguments } from '../../../src/rewards/sandbox/containerArguments.ts';
import { findSandbox } from '../../../src/rewards/sandbox/findSandbox.ts';
import { launchers } from '../../../src/rewards/sandbox/launcher.ts';
import { defaultSandboxLimits } from '../../../src/rewards/sandbox/sandbox.ts';
import { parseSandboxMode } from '../../../src/rewards/sandbox/sandboxMode.ts';

describe('the sandbox mode', () => {
	it('is one of four, with auto as the default', () => {
		assert.deepEqual(parseSandboxMode(undefined), { kind: 'auto' });
		assert.deepEqual(parseSandboxMode(' '), { kind: 'auto' });
		assert.deepEqual(parseSandboxMode('bubblewrap'), { kind: 'bubblewrap' });
		assert.deepEqual(parseSandboxMode('unsafe'), { kind: 'unsafe' });
		assert.deepEqual(parseSandboxMode('container:ghcr.io/a/b:1.2@sha256:00'), {
			kind: 'container',
			image: 'ghcr.io/a/b:1.2@sha256:00',
		});
	});

	it('never falls back to a weaker mode because of a typo', () => {
		for (const text of ['none', 'Unsafe', 'container', 'container:', 'container:--privileged', 'container:a b']) {
			assert.throws(() => parseSandboxMode(text), { reason: 'invalid' }, text);
		}
	});
});

describe('a missing sandbox', () => {
	const withPath = async <T>(path: string, action: () => Promise<T>): Promise<T> => {
		const before = process.env.PATH;
		process.env.PATH = path;
		try {
			return await action();
		} finally {
			process.env.PATH = before;
		}
	};
	const refusal = async (action: () => Promise<unknown>): Promise<Failure> => {
		try {
			await action();
		} catch (error) {
			assert.ok(error instanceof Failure);
			return error;
		}
		return assert.fail('the action was not rejected');
	};

	it('is rejected with one sentence and an action, and nothing runs instead', async () => {
		const folder = await mkdtemp(join(tmpdir(), 'sandbox-path-'));
		try {
			for (const kind of ['auto', 'bubblewrap'] as const) {
				const failure = await withPath(folder, () => refusal(() => findSandbox({ kind })));
				assert.equal(failure.reason, 'unavailable');
				assert.match(failure.message, /^Model-written code is not run without a sandbox: bubblewrap /);
				assert.match(failure.action ?? '', /container/);
				if (process.platform === 'linux') assert.match(failure.action ?? '', /apt install bubblewrap/);
			}
			const failure = await withPath(folder, () => refusal(() => findSandbox({ kind: 'container', image: 'x' })));
			assert.match(failure.message, /Neither Docker nor Podman is installed\.$/);
		} finally {
			await rm(folder, { recursive: true });
		}
	});

	it('due to disabled namespaces is rejected with instructions to enable them', {
		skip: process.platform !== 'linux',
	}, async () => {
		const folder = await mkdtemp(join(tmpdir(), 'sandbox-path-'));
		try {
			const script = [
				'#!/bin/sh',
				'[ "$1" = --help ] && exec echo "--disable-userns"',
				'echo "bwrap: setting up uid map: Permission denied" >&2',
				'exit 1',
			].join('\n');
			await writeFile(join(folder, 'bwrap'), script, { mode: 0o755 });
			const path = `${folder}:${process.env.PATH}`;
			const failure = await withPath(path, () => refusal(() => findSandbox({ kind: 'auto' })));
			assert.match(failure.message, /setting up uid map: Permission denied\.$/);
			assert.match(failure.action ?? '', /apparmor_restrict_unprivileged_userns=0/);
		} finally {
			await rm(folder, { recursive: true });
		}
	});
});

describe('a container', () => {
	const plan = {
		engine: 'docker' as const,
		image: 'python:3.12-slim',
		name: 'reasoning-lab-1',
		command: { program: 'python' as const, args: ['-B', 'main.py'], files: { 'main.py': 'print(1)' } },
		limits: { ...defaultSandboxLimits, memoryMb: 100, processes: 7, diskMb: 5, fileMb: 2 },
		files: '/tmp/files',
		filter: null,
		timeoutSeconds: 30,
	};
	const args = containerArguments(plan);
	const optionsOf = (option: string) => args.flatMap((one, i) => (one === option ? [args[i + 1]] : []));

	it('has no network, no privileges and no access to this machine except its files', () => {
		assert.deepEqual(optionsOf('--network'), ['none']);
		assert.ok(args.includes('--read-only'));
		assert.deepEqual(optionsOf('--cap-drop'), ['ALL']);
		assert.deepEqual(optionsOf('--security-opt'), ['no-new-privileges']);
		assert.deepEqual(optionsOf('--user'), ['65534:65534']);
		assert.deepEqual(optionsOf('--mount'), ['type=bind,source=/tmp/files/main.py,target=/work/main.py,readonly']);
		assert.ok(!args.some((one) => one.startsWith('--volume') || one === '-v' || one === '--privileged'));
	});

	it('has the requested limits and no additional swap', () => {
		assert.deepEqual(optionsOf('--memory'), ['100000000']);
		assert.deepEqual(optionsOf('--memory-swap'), ['100000000']);
		assert.deepEqual(optionsOf('--pids-limit'), ['8']);
		assert.ok(optionsOf('--ulimit').includes('fsize=2000000'));
		assert.deepEqual(
			optionsOf('--tmpfs').map((one) => one?.split(':')[0]),
			['/tmp', '/work'],
		);
	});

	it('has folders that its user can write to, in the syntax of each engine', () => {
		const podman = containerArguments({ ...plan, engine: 'podman' });
		const fileSystem = 'rw,nosuid,nodev,size=5000000,mode=1777,';
		assert.deepEqual(optionsOf('--tmpfs'), [
			`/tmp:${fileSystem}uid=65534,gid=65534`,
			`/work:${fileSystem}uid=65534,gid=65534`,
		]);
		assert.deepEqual(
			podman.filter((one) => !args.includes(one)),
			[
				'mask=/proc/1/mem:/proc/1/environ',
				'--timeout',
				'30',
				`/tmp:${fileSystem}U,notmpcopyup`,
				`/work:${fileSystem}U,notmpcopyup`,
			],
		);
	});

	it('is not pulled implicitly, and runs the program instead of the image entry point', () => {
		assert.deepEqual(optionsOf('--pull'), ['never']);
		assert.deepEqual(optionsOf('--entrypoint'), ['python3']);
		assert.deepEqual(args.slice(-3), ['python:3.12-slim', '-B', 'main.py']);
	});

	it('runs programs if an engine and an image are available', async (test) => {
		const image = process.env.TEST_CONTAINER_IMAGE ?? 'python:3.12-slim';
		let sandbox: Awaited<ReturnType<typeof findSandbox>>;
		try {
			sandbox = await findSandbox({ kind: 'container', image });
		} catch (error) {
			test.skip(String(error));
			return;
		}
		const result = await sandbox.run({ ...plan.command, stdin: '' });
		assert.equal(result.stdout, '1\n');
		const writing =
			'for path in "own", "/work/own2", "/tmp/own", "/dev/shm/own": open(path, "w").write("x")\nprint("written")';
		const { stdout, stderr } = await sandbox.run({ program: 'python', args: ['-c', writing] });
		assert.equal(stdout, 'written\n', stderr);
	});
});

describe('kernel limits', () => {
	const limits = { ...defaultSandboxLimits, cpuSeconds: 1.5, addressSpaceMb: 100, processes: 9 };

	it('are set with prlimit', () => {
		const args = launchers.prlimit.wrap(limits, true);
		assert.deepEqual(args, [
			'prlimit',
			'--core=0',
			'--cpu=2:3',
			'--fsize=16000000',
			'--nofile=256',
			'--as=100000000',
			'--nproc=9',
			'--',
		]);
		assert.ok(!launchers.prlimit.wrap(limits, false).some((one) => one.startsWith('--nproc')));
	});

	it('are set with the shell if there is no prlimit', { skip: process.platform === 'win32' }, async () => {
		const { spawnSync } = await import('node:child_process');
		const [program = '', ...args] = launchers.shell.wrap(limits, false);
		const { stdout } = spawnSync(program, [...args, 'sh', '-c', 'ulimit -t; ulimit -n; ulimit -c'], {
			encoding: 'utf8',
		});
		assert.equal(stdout, '2\n256\n0\n');
	});
});

describe('inherited file descriptors', () => {
	it('are detected, and replaced by /dev/null in child processes', {
		skip: process.platform !== 'linux',
	}, async () => {
		const { spawnSync } = await import('node:child_process');
		const module = new URL('../../../src/processes/inheritedDescriptors.ts', import.meta.url).href;
		const code = `
			import { spawnSync } from 'node:child_process';
			import { inheritedDescriptors, shutDescriptors } from ${JSON.stringify(module)};
			const stdio = ['ignore', 'pipe', 'ignore'];
			const found = await inheritedDescriptors();
			const close = shutDescriptors(stdio, found);
			const { stdout } = spawnSync('readlink', ['/proc/self/fd/200'], { stdio, encoding: 'utf8' });
			close();
			console.log(found.includes(200), stdout.trim());`;
		const { closeSync, openSync } = await import('node:fs');
		const file = openSync('/etc/passwd', 'r');
		const stdio = Array.from({ length: 201 }, (_, i) => (i === 1 ? 'pipe' : i === 200 ? file : 'ignore'));
		const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
			encoding: 'utf8',
			stdio: stdio as import('node:child_process').StdioOptions,
		});
		closeSync(file);
		assert.equal(stdout, 'true /dev/null\n');
	});

	it('that are already set in stdio are kept', async () => {
		const stdio: unknown[] = ['pipe', 'pipe', 'pipe', 'pipe', 'ignore'];
		shutDescriptors(stdio, [3])();
		assert.deepEqual(stdio, ['pipe', 'pipe', 'pipe', 'pipe', 'ignore']);
		assert.ok(Array.isArray(await inheritedDescriptors()));
	});
});
