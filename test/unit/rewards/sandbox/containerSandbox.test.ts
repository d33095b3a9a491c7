import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { containerArguments } from '../../../../src/rewards/sandbox/containerArguments.ts';
import { containerGaps } from '../../../../src/rewards/sandbox/containerGaps.ts';
import { containerSandbox } from '../../../../src/rewards/sandbox/containerSandbox.ts';
import { defaultSandboxLimits } from '../../../../src/rewards/sandbox/sandbox.ts';
import { seccompProfile } from '../../../../src/rewards/sandbox/seccompProfile.ts';
import { allowedCalls } from '../../../../src/rewards/sandbox/systemCalls.ts';

const dockerInfo = { MemoryLimit: true, PidsLimit: true, SecurityOptions: ['name=seccomp,profile=builtin'] };

/**
 * Fake engine that logs its arguments and behaves as specified by neighboring files. It only tests the command line;
 * sandboxModes.test.ts checks on machines with a real engine that options are honored. In the log, each argument ends
 * with a unit separator and each call with a record separator.
 */
const engine = `#!/bin/sh
PATH=/usr/bin:/bin
here=\${0%/*}
said() { if [ -f "$here/$1" ]; then cat "$here/$1"; else printf '%s' "$2"; fi; }
{ printf '%s\\037' "$@"; printf '\\036'; } >> "$here/log"
case $1 in
image) said image '[{"Config":{"Env":[]}}]' ;;
info) said info '' ;;
run)
	refused=$(said refused '')
	if [ -n "$refused" ]; then
		for arg in "$@"; do case $arg in "$refused"*) exit 125 ;; esac; done
	fi
	said stdout ''
	said stderr '' >&2
	exit "$(said status 0)"
	;;
esac
`;

describe('a container engine', { skip: process.platform === 'win32' }, () => {
	let folder: string;
	let temporary: string;
	const before_ = { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR };
	const calls = async () =>
		(await readFile(join(folder, 'log'), 'utf8'))
			.split('\u001e')
			.slice(0, -1)
			.map((call) => call.split('\u001f').slice(0, -1));
	const says = (name: string, text: string) => writeFile(join(folder, name), text);

	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'container-engine-'));
		// A temporary folder whose name could be parsed as mount options.
		temporary = join(folder, 'a,readonly=false,"b" c');
		await mkdir(temporary);
		await writeFile(join(folder, 'docker'), engine);
		await chmod(join(folder, 'docker'), 0o755);
		await says('info', JSON.stringify(dockerInfo));
		process.env.PATH = folder;
		process.env.TMPDIR = temporary;
	});
	after(async () => {
		process.env.PATH = before_.PATH;
		if (before_.TMPDIR === undefined) delete process.env.TMPDIR;
		else process.env.TMPDIR = before_.TMPDIR;
		await rm(folder, { recursive: true });
	});

	const refusal = async (action: () => Promise<unknown>): Promise<Failure> => {
		const error = await action().then(
			() => assert.fail('the action was not rejected'),
			(reason: unknown) => reason,
		);
		assert.ok(error instanceof Failure, String(error));
		return error;
	};

	it('runs a program with an init process and has its container removed, leaving nothing behind', async () => {
		const sandbox = await containerSandbox('python:3.12-slim');
		assert.deepEqual(sandbox.gaps, []);
		await says('stdout', '1\n');
		const files = { 'main.py': 'print(1)' };
		const result = await sandbox.run({ program: 'python', args: ['main.py', '--privileged', ' ; rm -rf /'], files });
		assert.equal(result.stdout, '1\n');
		const all = await calls();
		const run = all.findLast(([verb]) => verb === 'run') ?? [];
		assert.ok(run.includes('--init'));
		const image = run.indexOf('python:3.12-slim');
		// Program arguments follow the image unchanged.
		assert.deepEqual(run.slice(image + 1), ['main.py', '--privileged', ' ; rm -rf /']);
		assert.ok(!run.slice(0, image).includes('--privileged'));
		const name = run[run.indexOf('--name') + 1];
		assert.deepEqual(all.at(-1), ['rm', '--force', name]);
		assert.deepEqual(await readdir(temporary), []);
	});

	it('starts programs with our system call filter, or reports that the engine does not support it', async () => {
		const filtersOf = async () =>
			(await calls()).filter(([verb]) => verb === 'run').map((args) => args.find((arg) => arg.startsWith('seccomp=')));
		const sandbox = await containerSandbox('x');
		await sandbox.run({ program: 'python', args: [] });
		assert.match((await filtersOf()).at(-1) ?? '', /^seccomp=.*\/reasoning-lab-\w+\/\.seccomp\.json$/);
		await says('refused', 'seccomp=');
		const without = await containerSandbox('x');
		assert.match(without.gaps.join(), /^a list of allowed system calls \(not supported by the engine/);
		await without.run({ program: 'python', args: [] });
		assert.equal((await filtersOf()).at(-1), undefined);
		await rm(join(folder, 'refused'));
	});

	it('allows in its profile what the bubblewrap filter allows, except for namespaces', () => {
		const { defaultAction, syscalls } = JSON.parse(seccompProfile()) as {
			defaultAction: string;
			syscalls: { names: string[]; action: string; args: { index: number; value: number; op: string }[] }[];
		};
		assert.equal(defaultAction, 'SCMP_ACT_ERRNO');
		const free = syscalls.filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args.length === 0);
		assert.deepEqual(
			free.flatMap(({ names }) => names),
			[...allowedCalls.map(({ name }) => name), 'ioctl'],
		);
		// Engines split a rule with two comparisons of one argument into two rules, either of which is sufficient.
		for (const { names, args } of syscalls)
			assert.equal(new Set(args.map(({ index }) => index)).size, args.length, `${names}`);
	});

	it('quotes a file path as one field, whatever it contains', async () => {
		const sandbox = await containerSandbox('x');
		await sandbox.run({ program: 'python', args: [], files: { 'main.py': '' } });
		const run = (await calls()).findLast(([verb]) => verb === 'run') ?? [];
		const fields = csv(run[run.indexOf('--mount') + 1] ?? '');
		assert.equal(fields.length, 4);
		assert.match(fields[1] ?? '', /^source=.*\/a,readonly=false,"b" c\/reasoning-lab-\w+\/main\.py$/);
		assert.deepEqual([fields[0], fields[2], fields[3]], ['type=bind', 'target=/work/main.py', 'readonly']);
	});

	it('reports a kill by the memory limit as such, and its own failure as an error', async () => {
		const sandbox = await containerSandbox('x');
		await says('status', '137');
		assert.equal((await sandbox.run({ program: 'python', args: [] })).end, 'memory');
		// If it ran for its whole CPU time, the CPU limit could have killed it, so the cause is unknown.
		const { end, signal } = await sandbox.run({ program: 'python', args: [], limits: { cpuSeconds: 0 } });
		assert.deepEqual([end, signal], ['signal', 'SIGKILL']);
		await says('status', '125');
		await says('stderr', 'docker: Error response from daemon: no space left on device.\n');
		const failure = await refusal(() => sandbox.run({ program: 'python', args: [] }));
		assert.equal(failure.reason, 'unavailable');
		assert.match(failure.message, /no space left/);
		await says('status', '0');
	});

	it('does not accept an image with volumes on the local disk', async () => {
		await says('image', '[{"Config":{"Volumes":{"/data":{}}}}]');
		assert.match((await refusal(() => containerSandbox('x'))).message, /declares volumes \(\/data\)/);
		for (const unknown of ['', '[]', '[{"Config":{"Volumes":"yes"}}]']) {
			await says('image', unknown);
			assert.match((await refusal(() => containerSandbox('x'))).message, /does not report whether/);
		}
		for (const none of ['[{"Config":null}]', '[{"Config":{"Volumes":null}}]', '[{"Config":{"Volumes":{}}}]']) {
			await says('image', none);
			await containerSandbox('x');
		}
	});

	it('that cannot run images is reported with its own error message', async () => {
		await says('image', '[{"Config":null}]');
		await says('status', '126');
		await says('stderr', 'Error: OCI runtime error: cgroups in hybrid mode not supported\n');
		const failure = await refusal(() => containerSandbox('x'));
		assert.equal(failure.reason, 'unavailable');
		assert.match(failure.message, /^docker cannot run programs from image x: Error: OCI .* hybrid mode not supported$/);
		await says('status', '0');
		await says('stderr', '');
	});

	it('that does not report its limits counts as having none', async () => {
		await says('info', 'Cannot connect');
		assert.equal((await containerSandbox('x')).gaps.length, 3);
		await says('info', JSON.stringify(dockerInfo));
	});
});

describe('engine information', () => {
	const podman = (controllers: string[], seccompEnabled: boolean) =>
		JSON.stringify({ host: { cgroupControllers: controllers, security: { seccompEnabled } } });

	it('is parsed for Docker and Podman', () => {
		assert.deepEqual(containerGaps(JSON.stringify(dockerInfo)), []);
		assert.deepEqual(containerGaps(podman(['cpu', 'memory', 'pids'], true)), []);
		// Podman without delegated controllers, then Docker without a filter.
		assert.deepEqual(containerGaps(podman([], true)), ['a memory limit', 'a process limit']);
		assert.deepEqual(
			containerGaps(JSON.stringify({ ...dockerInfo, SecurityOptions: ['name=seccomp,profile=unconfined'] })),
			['a system call filter'],
		);
	});

	it('counts protections as missing if not reported', () => {
		for (const text of ['', 'null', '{}', '[1]', '{"MemoryLimit":"yes"}', '{"host":null}']) {
			assert.equal(containerGaps(text).length, 3, text);
		}
	});
});

describe('container arguments', () => {
	it('leave room for the init process', () => {
		const args = containerArguments({
			engine: 'docker',
			image: 'x',
			name: 'n',
			command: { program: 'sh', args: [] },
			limits: { ...defaultSandboxLimits, processes: 7 },
			files: null,
			filter: null,
			timeoutSeconds: 30,
		});
		assert.equal(args[args.indexOf('--pids-limit') + 1], '8');
	});
});

/** Parses one line of CSV (RFC 4180). */
function csv(line: string): string[] {
	return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
		([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
	);
}
