/**
 * Runs programs in control groups on a kernel that delegates them: `npm run acceptance -- controlGroups`. Few machines
 * that run the checks delegate control groups, so a separate kernel runs as a process (User Mode Linux) on this
 * machine's files, which it cannot change. Inside it, the control group unit tests run as root and as a user with a
 * delegated group.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findOnPath, isOpenToAll } from '../../src/rewards/sandbox/interpreters.ts';
import { root } from '../scripts/paths.ts';

const kernel = await findOnPath('linux.uml');
const file = 'test/unit/rewards/sandbox/controlGroups.test.ts';
const timeoutMs = 600_000;

describe('on a kernel that delegates control groups', {
	skip: kernel === null && 'there is no linux.uml on PATH (Debian: sudo apt-get install user-mode-linux)',
}, () => {
	let folder: string;
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'own-kernel-'));
	});
	after(() => rm(folder, { recursive: true, force: true }));

	/** Returns the output of the kernel's init process and its children. */
	async function boot(commands: string): Promise<string> {
		const init = join(folder, 'init.sh');
		const lines = [
			'#!/bin/sh',
			'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/dev/shm/tmp',
			'mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t cgroup2 groups /sys/fs/cgroup',
			'mkdir /dev/shm; mount -t tmpfs memory /dev/shm; mkdir -m 1777 /dev/shm/tmp',
			`cd '${root}'`,
			commands,
			'echo o > /proc/sysrq-trigger',
			'sleep 60',
		];
		await writeFile(init, `${lines.join('\n')}\n`);
		await chmod(init, 0o755);
		const files = ['root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro'];
		const console = ['con=null', 'con0=null,fd:1', 'quiet'];
		const child = spawn(kernel as string, ['mem=1500M', ...files, ...console, `uml_dir=${folder}`, `init=${init}`], {
			stdio: ['ignore', 'pipe', 'ignore'],
			env: { ...process.env, TMPDIR: folder },
		});
		const timeout = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
		let text = '';
		for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
		clearTimeout(timeout);
		return text.replaceAll('\r', '');
	}

	const test = `'${process.execPath}' --test --test-reporter=tap ${file}`;
	const passed = (output: string) => {
		const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(output)?.[1]);
		assert.deepEqual([count('fail'), count('skipped')], [0, 0], output);
		assert.ok(count('pass') > 0, output);
	};

	it('root creates groups below the root group', async () => passed(await boot(test)));

	it('a user creates groups below their own group', async (t) => {
		if (!(await isOpenToAll(root))) return t.skip('another user cannot read this checkout');
		const delegate = [
			'cd /sys/fs/cgroup; mkdir own own/program',
			'for group in . own; do echo "+memory +pids" > $group/cgroup.subtree_control; done',
			'chown -R 1000 own; echo $$ > own/program/cgroup.procs; cd -',
		];
		passed(await boot([...delegate, `setpriv --reuid 1000 --regid 1000 --clear-groups ${test}`].join('\n')));
	});
});
