/**
 * Tests the Ray cluster that the editor starts on this machine: Ray itself, its Jobs API, and what remains after it
 * stops.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { isFinal, type JobState, JobsApi } from '../../src/engines/driver/ray/jobsApi.ts';
import { LocalCluster, listensAt } from '../../src/environment/localCluster.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { freePort } from '../support/rayCluster.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : process.platform !== 'linux';

/** Returns the processes of clusters started here, with their listening sockets in the kernel's notation. */
async function processes(): Promise<{ pid: string; listens: string[] }[]> {
	const listening = new Map<string, string>();
	for (const table of ['tcp', 'tcp6']) {
		for (const line of (await readFile(`/proc/net/${table}`, 'utf8')).split('\n').slice(1)) {
			const [, address = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
			if (state === '0A') listening.set(`socket:[${inode}]`, address);
		}
	}
	const own: { pid: string; listens: string[] }[] = [];
	for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
		const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
		if (!/(^|\0)REASONING_LAB_RAY=/.test(environment)) continue;
		const links = await readdir(`/proc/${pid}/fd`).catch(() => []);
		const targets = await Promise.all(links.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
		own.push({ pid, listens: targets.flatMap((target) => listening.get(target) ?? []) });
	}
	return own;
}

test('a local cluster runs jobs, listens only on loopback, and leaves nothing behind when stopped', {
	skip,
}, async (t) => {
	const home = await mkdtemp(join(tmpdir(), 'cluster-'));
	const cluster = new LocalCluster(home);
	t.after(async () => {
		await cluster.stop();
		await rm(home, { recursive: true, force: true });
	});
	assert.deepEqual(await processes(), []);
	const address = `http://127.0.0.1:${await freePort(new Set())}`;

	const abort = new AbortController();
	setTimeout(() => abort.abort(), 4000);
	const start = { python, address, nodeFolder: null };
	await assert.rejects(cluster.start({ ...start, signal: abort.signal }), { reason: 'cancelled' });
	assert.deepEqual(await processes(), [], 'a canceled start leaves no processes behind');

	const bare = join(home, 'bare');
	await promisify(execFile)(python, ['-m', 'venv', '--without-pip', bare]);
	await assert.rejects(cluster.start({ ...start, python: join(bare, 'bin', 'python') }), {
		reason: 'missing',
		action: /pip install "ray\[default,train\]"$/,
	});

	await cluster.start(start);
	assert.equal(await new LocalCluster(home).running(), address, 'any window can find the cluster');
	const listens = (await processes()).flatMap((one) => one.listens);
	assert.ok(listens.length > 3, listens.join(' '));
	for (const socket of listens) {
		assert.match(socket, /^(0100007F|0{16}FFFF00000100007F|0{24}01000000):/, `${socket} is not on loopback`);
	}
	await assert.rejects(cluster.start(start), { reason: 'invalid', message: /started here is already running at/ });

	const api = new JobsApi({ address, headers: {} });
	const code = 'import ray; ray.init(); print(ray.get(ray.remote(lambda: 6 * 7).remote()))';
	const request = { submission_id: 'local', entrypoint: `${python} -c "${code}"`, runtime_env: {}, metadata: {} };
	await api.submit(request);
	let state: JobState = 'PENDING';
	for (let i = 0; i < 240 && !isFinal(state); i++) {
		await new Promise((resolve) => setTimeout(resolve, 500));
		state = (await api.job('local'))?.status ?? state;
	}
	assert.equal(state, 'SUCCEEDED', await api.logs('local'));

	assert.equal(await cluster.stop(), address);
	assert.deepEqual(await processes(), []);
	assert.equal(await listensAt(address), false);
	assert.equal(await cluster.running(), null);
});
