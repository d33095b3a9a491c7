import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileLock } from '../../../src/files/fileLock.ts';
import { ownIdentity } from '../../../src/processes/processIdentity.ts';
import { startHelper, temporaryFolder } from '../runs/runFixtures.ts';

test('a running process keeps the lock, and the error names it', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	const holder = startHelper(context, '../files/lockHolder.ts', folder);
	assert.equal(await holder.line(), 'held');
	await assert.rejects(FileLock.acquire(folder, 'The run x'), {
		reason: 'busy',
		message: `The run x is in use by process ${holder.process.pid}.`,
	});
	assert.equal((await FileLock.holder(folder))?.pid, holder.process.pid);
});

test('a killed process does not block the lock', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	const holder = startHelper(context, '../files/lockHolder.ts', folder);
	assert.equal(await holder.line(), 'held');
	holder.process.kill('SIGKILL');
	await holder.ended;
	assert.equal(await FileLock.holder(folder), null);
	const lock = await FileLock.acquire(folder, 'The run');
	await lock.release();
});

test('a released lock can be acquired again, including by another process', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	for (let i = 0; i < 3; i++) await (await FileLock.acquire(folder, 'The run')).release();
	const other = startHelper(context, '../files/lockHolder.ts', folder, 'release');
	assert.equal(await other.line(), 'held');
	await other.ended;
	const lock = await FileLock.acquire(folder, 'The run');
	assert.deepEqual(await readdir(folder), ['000005']);
	await lock.release();
	await lock.release();
});

test('exactly one of several processes racing for a stale lock acquires it', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	for (let round = 0; round < 3; round++) {
		const dead = startHelper(context, '../files/lockHolder.ts', folder);
		assert.equal(await dead.line(), 'held');
		dead.process.kill('SIGKILL');
		await dead.ended;
		const contenders = Array.from({ length: 4 }, () => startHelper(context, '../files/lockHolder.ts', folder));
		const answers = await Promise.all(contenders.map((contender) => contender.line()));
		assert.deepEqual(answers.sort(), ['busy', 'busy', 'busy', 'held']);
		for (const contender of contenders) contender.process.kill('SIGKILL');
		await Promise.all(contenders.map((contender) => contender.ended));
	}
});

test('lock attempts within one process also exclude each other', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	for (let round = 0; round < 20; round++) {
		const results = await Promise.allSettled(Array.from({ length: 8 }, () => FileLock.acquire(folder, 'The run')));
		const won = results.filter((result) => result.status === 'fulfilled');
		assert.equal(won.length, 1);
		await won[0]?.value.release();
	}
});

test('a process that reuses the pid does not count as the holder', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	await mkdir(folder);
	const entry = { ...(await ownIdentity()), processStart: '1', released: false };
	await writeFile(join(folder, '000001'), JSON.stringify(entry));
	await (await FileLock.acquire(folder, 'The run')).release();
});

test('a holder on another host counts while its heartbeat is recent', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	await mkdir(folder);
	const entry = { ...(await ownIdentity()), host: 'elsewhere.example', released: false };
	const path = join(folder, '000007');
	await writeFile(path, JSON.stringify(entry));
	await assert.rejects(FileLock.acquire(folder, 'The run'), { reason: 'busy', message: /on elsewhere\.example/ });
	const old = new Date(Date.now() - 60_000);
	await utimes(path, old, old);
	const lock = await FileLock.acquire(folder, 'The run');
	const written = JSON.parse(await readFile(join(folder, '000008'), 'utf8'));
	assert.equal(written.pid, process.pid);
	await lock.release();
});

test('a damaged lock file does not block indefinitely', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	await mkdir(folder);
	const path = join(folder, '000001');
	await writeFile(path, '{"host": 5');
	await assert.rejects(FileLock.acquire(folder, 'The run'), { reason: 'busy' });
	const old = new Date(Date.now() - 60_000);
	await utimes(path, old, old);
	await (await FileLock.acquire(folder, 'The run')).release();
});

test('acquiring waits for a holder that is exiting, up to the given timeout', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	const first = await FileLock.acquire(folder, 'The run');
	await assert.rejects(FileLock.acquire(folder, 'The run', 60), { reason: 'busy' });
	let taken = false;
	const second = FileLock.acquire(folder, 'The run', 60_000).then((lock) => {
		taken = true;
		return lock;
	});
	await new Promise((resolve) => setTimeout(resolve, 100));
	assert.equal(taken, false);
	await first.release();
	await (await second).release();
});

test('releasing a lock in a full or read-only folder needs no second file, and files left by dead processes are removed', async (context) => {
	const folder = join(await temporaryFolder(context), 'run.lock');
	const lock = await FileLock.acquire(folder, 'The run');
	await writeFile(join(folder, '.000001.99.abc.tmp'), 'left by a process that was killed');
	const mode = (await stat(folder)).mode;
	// New files cannot be created here except by root, so check the remaining file names.
	await chmod(folder, 0o555);
	await lock.release();
	await chmod(folder, mode);
	assert.equal(await FileLock.holder(folder), null);
	assert.deepEqual((await readdir(folder)).sort(), ['.000001.99.abc.tmp', '000001']);
	const entry = JSON.parse(await readFile(join(folder, '000001'), 'utf8')) as { pid: number; released: boolean };
	assert.deepEqual([entry.pid, entry.released], [process.pid, true]);
	const next = await FileLock.acquire(folder, 'The run');
	assert.deepEqual(await readdir(folder), ['000002']);
	await next.release();
});
