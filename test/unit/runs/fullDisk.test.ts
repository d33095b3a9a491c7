import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { writeFileAtomic } from '../../../src/files/atomicFile.ts';
import { AtomicLines } from '../../../src/files/atomicLines.ts';
import { prepareRun } from '../../../src/runs/prepareRun.ts';
import { listCheckpoints, readMetrics, readRecord } from '../../../src/runs/runReader.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, metricsLine, rollout, temporaryFolder } from './runFixtures.ts';

/** Mounts a memory file system of a given size. If it cannot, skips the test with the reason and returns null. */
async function smallDisk(context: TestContext, size: string, options = ''): Promise<string | null> {
	const folder = await mkdtemp(join(tmpdir(), 'reasoning-lab-disk-'));
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}${options}`, 'tmpfs', folder], { stdio: 'pipe' });
	} catch (error) {
		context.skip(`no small file system can be mounted here: ${String((error as Error).message).split('\n')[0]}`);
		await rm(folder, { recursive: true });
		return null;
	}
	context.after(async () => {
		execFileSync('umount', ['-l', folder]);
		await rm(folder, { recursive: true });
	});
	return folder;
}

test('on a full disk, every write fails with that reason and loses nothing', async (context) => {
	const disk = await smallDisk(context, '1m');
	if (disk === null) return;
	const folder = join(disk, 'run');
	await mkdir(folder);
	const writer = await RunWriter.create(folder, initialRecord);
	await writer.updateRecord({ status: 'running' });
	await writer.writeRollouts(1, [rollout(1, 0)]);
	await writer.appendMetrics(metricsLine(1));
	await writeFile(join(await writer.beginCheckpoint(1), 'model.safetensors'), 'whole');
	await writer.commitCheckpoint(1);
	// Fill all but one page.
	for (let size = 1 << 20; size >= 4096; size >>= 1) {
		await writeFile(join(disk, `ballast-${size}`), Buffer.alloc(size)).catch(() => undefined);
	}
	const isFull = { reason: 'full', message: /no space left/, action: /Free some disk space/ };
	const many = Array.from({ length: 500 }, (_, i) => rollout(2, i));
	await assert.rejects(writer.writeRollouts(2, many), isFull);
	await assert.rejects(writer.appendMetrics({ ...metricsLine(2), stage: 'x'.repeat(20_000) }), isFull);
	const aside = await writer.beginCheckpoint(2).catch(() => null);
	if (aside !== null) {
		await writeFile(join(aside, 'model.safetensors'), Buffer.alloc(100_000)).catch(() => undefined);
		await assert.rejects(writer.commitCheckpoint(2), { reason: 'full' });
	}
	assert.equal((await readRecord(folder)).status, 'running');
	assert.deepEqual(await readMetrics(folder), [metricsLine(1)]);
	assert.ok((await readFile(join(folder, 'metrics.jsonl'), 'utf8')).endsWith('\n'));
	assert.deepEqual(await readdir(join(folder, 'rollouts')), ['step_000001.jsonl']);
	assert.deepEqual(
		(await listCheckpoints(folder)).map(({ step }) => step),
		[1],
	);
	// With free space again, the run continues where it left off.
	for (const name of await readdir(disk)) if (name.startsWith('ballast')) execFileSync('rm', [join(disk, name)]);
	await writer.writeRollouts(2, many);
	await writer.appendMetrics(metricsLine(2));
	assert.equal((await readMetrics(folder)).length, 2);
	await writer.updateRecord({ status: 'finished' });
	await writer.close();
	assert.equal((await readRecord(folder)).status, 'finished');
});

test('a file is replaced completely or not at all when the disk fills up', async (context) => {
	const disk = await smallDisk(context, '64k');
	if (disk === null) return;
	const path = join(disk, 'file');
	await writeFileAtomic(path, 'old');
	await assert.rejects(writeFileAtomic(path, 'n'.repeat(200_000)), { reason: 'full' });
	assert.equal(await readFile(path, 'utf8'), 'old');
	assert.deepEqual(await readdir(disk), ['file']);
});

test('a read-only disk is rejected with one sentence', async (context) => {
	const disk = await smallDisk(context, '1m');
	if (disk === null) return;
	const recipe = {
		name: 'r',
		dataset: { task: 'addition' },
		model: { layers: 1, width: 8, heads: 1 },
		stages: [{ type: 'sft', steps: 1, learning_rate: 0.001 }],
	};
	await writeFile(join(disk, 'r.recipe.json'), JSON.stringify(recipe));
	await mkdir(join(disk, 'run'));
	execFileSync('mount', ['-o', 'remount,ro', disk]);
	await assert.rejects(prepareRun(join(disk, 'r.recipe.json')), {
		reason: 'denied',
		message: `Cannot create a run folder in ${join(disk, 'runs')}: read-only file system.`,
		action: 'Choose a folder you can write to.',
	});
	await assert.rejects(RunWriter.create(join(disk, 'run'), initialRecord), { reason: 'denied' });
});

test('a folder without permission is rejected', {
	skip: process.getuid?.() === 0 && 'root may write anywhere',
}, async (context) => {
	const folder = join(await temporaryFolder(context), 'run');
	await mkdir(folder);
	await chmod(folder, 0o500);
	context.after(() => chmod(folder, 0o700));
	await assert.rejects(RunWriter.create(folder, initialRecord), { reason: 'denied' });
	assert.deepEqual(await readdir(folder), []);
	assert.equal((await stat(folder)).mode & 0o777, 0o500);
});

test('an export that runs out of space reports it and leaves nothing behind', async (context) => {
	const disk = await smallDisk(context, '1m');
	if (disk === null) return;
	const lines = await AtomicLines.open(join(disk, 'out.jsonl'), { replace: false });
	const write = async () => {
		for (let i = 0; i < 40; i++) await lines.append(`${'x'.repeat(50_000)}\n`);
		await lines.commit();
	};
	await assert.rejects(write(), { reason: 'full', action: /choose another folder/ });
	await lines.discard();
	assert.deepEqual(await readdir(disk), []);
});
