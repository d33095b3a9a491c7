import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { bubblewrapSandbox } from '../../../../src/rewards/sandbox/bubblewrapSandbox.ts';
import {
	type ControlGroups,
	openControlGroups,
	removeLeftGroups,
} from '../../../../src/rewards/sandbox/controlGroups.ts';
import { findGroupPlace } from '../../../../src/rewards/sandbox/findGroupPlace.ts';
import type { Sandbox, SandboxLimits } from '../../../../src/rewards/sandbox/sandbox.ts';
import { until } from '../hostFixtures.ts';

interface Group {
	readonly offers: string;
	readonly handsOn: string;
	readonly processes?: string;
	readonly isRoot?: boolean;
}

describe('the location for control groups', () => {
	let folder: string;
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'control groups-'));
	});
	after(() => rm(folder, { recursive: true }));

	/** Creates a tree of control groups as files and returns its mount. */
	async function tree(name: string, groups: Readonly<Record<string, Group>>, root = '/'): Promise<string> {
		const mount = join(folder, name);
		for (const [path, { offers, handsOn, processes = '', isRoot }] of Object.entries(groups)) {
			const at = join(mount, path);
			await mkdir(at, { recursive: true });
			await writeFile(join(at, 'cgroup.controllers'), `${offers}\n`);
			await writeFile(join(at, 'cgroup.subtree_control'), `${handsOn}\n`);
			await writeFile(join(at, 'cgroup.procs'), processes);
			if (!isRoot) await writeFile(join(at, 'cgroup.type'), 'domain\n');
		}
		return [
			'23 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw',
			`30 23 0:26 ${root} ${mount.replaceAll(' ', '\\040')} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate`,
			'31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
		].join('\n');
	}
	const all = 'cpu io memory pids';
	const busy = { offers: all, handsOn: '', processes: '17\n' };
	const folderOf = (name: string) => (path: string) => Promise.resolve(path.startsWith(join(folder, name)));

	it('is the slice of the systemd user instance, above application scopes', async () => {
		const slice = '/user.slice/user-1000.slice/user@1000.service';
		const mountinfo = await tree('systemd', {
			'/': { offers: all, handsOn: all, isRoot: true },
			'/user.slice/user-1000.slice': { offers: all, handsOn: all },
			[slice]: { offers: all, handsOn: 'memory pids' },
			[`${slice}/app.slice`]: { offers: 'memory pids', handsOn: 'memory pids' },
			[`${slice}/app.slice/app-code-1.scope`]: { offers: 'memory pids', handsOn: '', processes: '17\n18\n' },
			'/user.slice/user-1000.slice/session-2.scope': busy,
		});
		const own = folderOf(`systemd${slice}`);
		const place = await findGroupPlace({ mountinfo, cgroup: `0::${slice}/app.slice/app-code-1.scope\n` }, own);
		assert.deepEqual(place, { folder: join(folder, `systemd${slice}/app.slice`), enable: false });
		// A terminal session is outside the delegated subtree.
		const session = { mountinfo, cgroup: '0::/user.slice/user-1000.slice/session-2.scope\n' };
		assert.deepEqual(await findGroupPlace(session, own), { missing: 'no control group is delegated to this user' });
	});

	it('is the root group for root, even though it contains processes', async () => {
		const mountinfo = await tree('root', { '/': { ...busy, isRoot: true } });
		const place = await findGroupPlace({ mountinfo, cgroup: '0::/\n' }, folderOf('root'));
		assert.deepEqual(place, { folder: join(folder, 'root'), enable: true });
		assert.deepEqual(await findGroupPlace({ mountinfo, cgroup: '0::/\n' }, async () => false), {
			missing: 'no control group is delegated to this user',
		});
	});

	it('is a delegated group without processes, whose controllers are then enabled for children', async () => {
		const mountinfo = await tree('service', {
			'/': { offers: all, handsOn: all, isRoot: true },
			'/lab.service': { offers: all, handsOn: '' },
			'/lab.service/main': { offers: '', handsOn: '', processes: '17\n' },
		});
		const place = await findGroupPlace(
			{ mountinfo, cgroup: '0::/lab.service/main\n' },
			folderOf('service/lab.service'),
		);
		assert.deepEqual(place, { folder: join(folder, 'service/lab.service'), enable: true });
	});

	it('is missing in a container whose only group contains its processes', async () => {
		const mountinfo = await tree('container', { '/': busy });
		const place = await findGroupPlace({ mountinfo, cgroup: '0::/\n' }, folderOf('container'));
		assert.match('missing' in place ? place.missing : '', /^this process's control group contains other processes/);
	});

	it('is missing if version 1 owns the controllers', async () => {
		const mountinfo = await tree('hybrid', { '/': { offers: 'hugetlb', handsOn: '', isRoot: true } });
		const place = await findGroupPlace({ mountinfo, cgroup: '4:memory:/a\n0::/\n' }, folderOf('hybrid'));
		assert.deepEqual(place, { missing: 'the memory and pids controllers are not delegated' });
	});

	it('is searched for in the part of the hierarchy that the last mount shows', async () => {
		const below = await tree('below', { '/': { offers: all, handsOn: all }, '/own': busy }, '/outer/box');
		const mountinfo = `${await tree('covered', { '/': busy })}\n${below}`;
		const place = await findGroupPlace({ mountinfo, cgroup: '0::/outer/box/own\n' }, folderOf('below'));
		assert.deepEqual(place, { folder: join(folder, 'below'), enable: false });
	});

	it('is missing without a mount or if our own group is not visible', async () => {
		const missing = 'cgroups v2 is not mounted';
		const mountinfo = await tree('other', { '/': { offers: all, handsOn: all } }, '/outer');
		for (const facts of [
			{ mountinfo: '', cgroup: '' },
			{ mountinfo: '', cgroup: '0::/a\n' },
			{ mountinfo, cgroup: '4:memory:/a\n' },
			{ mountinfo, cgroup: '0::/elsewhere\n' },
			{ mountinfo, cgroup: '0::/../outside\n' },
		]) {
			assert.deepEqual(await findGroupPlace(facts, async () => true), { missing }, facts.cgroup);
		}
	});
});

const groups = process.platform === 'linux' ? await openControlGroups() : { missing: 'this is not Linux' };
const made = 'missing' in groups ? null : await bubblewrapSandbox().catch(String);
const why = 'missing' in groups ? `no control group: ${groups.missing}` : typeof made === 'string' ? made : false;

describe('the sandbox', { skip: process.platform !== 'linux' }, () => {
	it('reports whether programs get control groups, and if not, why', async (test) => {
		const sandbox = made ?? (await bubblewrapSandbox().catch(String));
		if (typeof sandbox === 'string') return test.skip(sandbox);
		const words =
			'missing' in groups ? `checked every 20 ms (no control group: ${groups.missing})` : 'by a control group';
		assert.ok(sandbox.description.includes(words), sandbox.description);
		// Limits are enforced either way.
		assert.doesNotMatch(sandbox.gaps.join(), /control group/);
	});
});

describe('a program in a control group', { skip: why }, () => {
	const sandbox = made as Sandbox;
	const { folder } = groups as ControlGroups;
	const ownGroups = async () =>
		(await readdir(folder)).filter((name) => name.startsWith('reasoning-lab-') && name.includes(`-${process.pid}-`));
	const python = (code: string, limits: Partial<SandboxLimits> = {}) =>
		sandbox.run({ program: 'python', args: ['-c', code], limits: { wallMs: 60_000, cpuSeconds: 60, ...limits } });

	it('has memory and task limits and no swap, and the group is removed with it', async () => {
		const running = python('import time; time.sleep(1)', { memoryMb: 100, diskMb: 10, processes: 7 });
		await until(async () => {
			const [name] = await ownGroups();
			return name !== undefined && (await readFile(join(folder, name, 'cgroup.procs'), 'utf8')).split('\n').length > 3;
		});
		const [name = ''] = await ownGroups();
		const said = async (file: string) => (await readFile(join(folder, name, file), 'utf8')).trim();
		// The limit, three full file systems and pages of program files, in whole pages.
		assert.ok(Math.abs(Number(await said('memory.max')) - 162_000_000) < 4096);
		// Two for the sandbox itself, and one that is detected and killed.
		assert.equal(await said('pids.max'), '10');
		assert.equal(await said('memory.swap.max').catch(() => '0'), '0');
		assert.equal((await running).end, 'exited');
		assert.deepEqual(await ownGroups(), []);
	});

	it('is ended for kernel memory that is not charged to any process', async () => {
		const code = `
import os, time
kept = []
for _ in range(900):
    kept.append(os.pipe())
    os.set_blocking(kept[-1][1], False)
    os.write(kept[-1][1], bytes(65536))
time.sleep(1)
print("all")`;
		const { end, stdout } = await python(code, { memoryMb: 40, diskMb: 1, openFiles: 2000 });
		assert.deepEqual([end, stdout], ['memory', '']);
		assert.deepEqual(await ownGroups(), []);
	});

	it('is ended by the kernel even when unsupervised, and swapping or forking does not evade the limit', async () => {
		const group = (groups as ControlGroups).make({ memoryBytes: 50e6, tasks: 20 });
		const code = 'import os\nfor _ in range(4): os.fork()\nkept = [bytearray(1 << 20) for _ in range(60)]';
		const stdio: import('node:child_process').StdioOptions = ['ignore', 'ignore', 'ignore', group.descriptor];
		const child = spawn('sh', ['-c', 'echo 0 >&3; exec python3 -c "$1"', 'sh', code], { stdio });
		await once(child, 'exit');
		assert.ok(group.exceededMemory());
		await group.end();
		assert.deepEqual(await ownGroups(), []);
	});

	it('sees its own group as the root', async () => {
		assert.match((await python('print(open("/proc/self/cgroup").read())')).stdout, /^0::\/$/m);
	});

	it('is ended together with its group, even if other processes exited first', async () => {
		const running = sandbox.start({ program: 'sh', args: ['-c', 'echo here; sleep 60 & sleep 60'] });
		await once(running.stdout, 'data');
		running.kill();
		assert.equal((await running.ended).end, 'cancelled');
		assert.deepEqual(await ownGroups(), []);
	});

	it('leaves a group behind if its supervisor was killed, and the next supervisor removes it', async () => {
		const group = (groups as ControlGroups).make({ memoryBytes: 1e8, tasks: 10 });
		const stdio: import('node:child_process').StdioOptions = ['ignore', 'pipe', 'ignore', group.descriptor];
		const child: ChildProcess = spawn('sh', ['-c', 'echo 0 >&3; echo in; exec sleep 60'], { stdio });
		await once(child.stdout as NodeJS.ReadableStream, 'data');
		group.handedOn();
		await removeLeftGroups(folder);
		assert.equal((await ownGroups()).length, 1, 'the group of a running process was removed');
		// Same name with a different start time: a process that has ended and whose pid was reused.
		const [, , namespace] = (await ownGroups())[0]?.split('-') ?? [];
		const left = join(folder, `reasoning-lab-${namespace}-${process.pid}-1-00`);
		const other = join(folder, 'reasoning-lab-1-1-1-00');
		await mkdir(left);
		await mkdir(other);
		await writeFile(join(left, 'cgroup.procs'), String(child.pid));
		await removeLeftGroups(folder);
		if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
		assert.equal(child.signalCode, 'SIGKILL');
		const names = await readdir(folder);
		assert.deepEqual([names.includes('reasoning-lab-1-1-1-00'), (await ownGroups()).length], [true, 1]);
		await rmdir(other);
		await group.end();
		assert.deepEqual(await ownGroups(), []);
	});
});
