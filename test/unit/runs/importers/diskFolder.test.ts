import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { DiskFolder } from '../../../../src/runs/importers/diskFolder.ts';
import { PathPattern } from '../../../../src/runs/importers/pathPattern.ts';

test('steps are listed again whenever a folder that determines them changes', async (t) => {
	const root = await mkdtemp(join(tmpdir(), 'folder-'));
	t.after(() => rm(root, { recursive: true, force: true }));
	const folder = new DiskFolder(root);
	const patterns = ['{step}.jsonl', '{kind}/{step}.jsonl', 'rollouts/step_{step}/train.jsonl'].map(
		(pattern) => new PathPattern(pattern),
	);
	const write = async (path: string): Promise<void> => {
		await mkdir(dirname(join(root, path)), { recursive: true });
		await writeFile(join(root, path), '{}\n');
	};
	/** Makes all folders look as if they had last changed long ago, at different times. */
	let year = 2000;
	const settle = async (): Promise<void> => {
		for (const path of ['', 'val', 'rollouts', 'rollouts/step_3']) {
			const time = new Date(`${year++}-01-01`);
			await utimes(join(root, path), time, time).catch(() => undefined);
		}
	};
	const steps = async () => {
		const listed: string[][] = [];
		for (const pattern of patterns) {
			const matches = [...(await folder.byStep(pattern)).values()].flat();
			listed.push(matches.map(({ path }) => path).sort());
		}
		return listed;
	};
	await write('1.jsonl');
	assert.deepEqual(await steps(), [['1.jsonl'], [], []]);
	// Within the timestamp resolution, a folder can change but keep its timestamp.
	await write('01.jsonl');
	assert.deepEqual(await steps(), [['01.jsonl', '1.jsonl'], [], []]);
	await settle();
	const first = await folder.byStep(patterns[0] as PathPattern);
	assert.equal(await folder.byStep(patterns[0] as PathPattern), first, 'kept');
	assert.deepEqual([...first.keys()], [1]);
	await write('2.jsonl');
	await write('val/1.jsonl');
	assert.deepEqual(await steps(), [['01.jsonl', '1.jsonl', '2.jsonl'], ['val/1.jsonl'], []]);
	await settle();
	await steps();
	await write('val/2.jsonl');
	await write('rollouts/step_3/train.jsonl');
	assert.deepEqual((await steps()).slice(1), [['val/1.jsonl', 'val/2.jsonl'], ['rollouts/step_3']]);
	await settle();
	await steps();
	await rm(join(root, 'val'), { recursive: true });
	await rename(join(root, 'rollouts'), join(root, 'away'));
	assert.deepEqual(await steps(), [['01.jsonl', '1.jsonl', '2.jsonl'], [], []]);
	await settle();
	await steps();
	await rename(join(root, 'away'), join(root, 'rollouts'));
	assert.deepEqual((await steps())[2], ['rollouts/step_3']);
});

test('a snapshot checks each folder and file once, and changes become visible after it', async (t) => {
	const root = await mkdtemp(join(tmpdir(), 'folder-'));
	t.after(() => rm(root, { recursive: true, force: true }));
	await mkdir(join(root, 'stream'));
	await writeFile(join(root, 'stream/1.jsonl'), '{}\n');
	const folder = new DiskFolder(root);
	const found = async () => (await folder.find('stream/{step}.jsonl')).map(({ path, size }) => [path, size]);
	const before = [['stream/1.jsonl', 3]];
	await folder.snapshot(async () => {
		assert.deepEqual(await found(), before);
		await writeFile(join(root, 'stream/1.jsonl'), '{}\n{}\n');
		await writeFile(join(root, 'stream/2.jsonl'), '{}\n');
		assert.deepEqual(await folder.snapshot(found), before, 'within another snapshot');
		assert.deepEqual(await found(), before);
		assert.equal(await folder.has('2.jsonl'), false);
		await writeFile(join(root, '2.jsonl'), '{}\n');
		assert.equal(await folder.has('2.jsonl'), false);
	});
	const after = [
		['stream/1.jsonl', 6],
		['stream/2.jsonl', 3],
	];
	assert.deepEqual(await found(), after);
	assert.equal(await folder.has('2.jsonl'), true);
	await assert.rejects(
		folder.snapshot(() => Promise.reject(new Error('failed'))),
		/failed/,
	);
	await rm(join(root, 'stream/1.jsonl'));
	assert.deepEqual(await found(), [['stream/2.jsonl', 3]]);
});
