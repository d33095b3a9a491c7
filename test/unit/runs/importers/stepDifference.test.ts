import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { followRun } from '../../../../src/runs/followRun.ts';
import type { FoundFile } from '../../../../src/runs/importers/folderView.ts';
import { differenceOf } from '../../../../src/runs/importers/stepDifference.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import type { RunTailEvent } from '../../../../src/runs/runTail.ts';
import { writeFiles } from './madeRun.ts';

const file = (path: string, size = 10, inode = 1, time = 1): FoundFile => ({
	path,
	size,
	modifiedMs: time,
	stamp: `7-${inode}-${size}-${time}`,
});

describe('rechecking the files of a step', () => {
	it('distinguishes unchanged, extended and replaced files', async () => {
		const before = [file('a'), file('b')];
		assert.equal(await differenceOf(before, [file('a'), file('b')]), 'none');
		assert.equal(await differenceOf(before, [file('b'), file('a')]), 'none');
		assert.equal(await differenceOf(before, [file('a'), file('b', 20)]), 'more');
		assert.equal(await differenceOf(before, [file('a'), file('b', 10, 1, 2)]), 'more');
		assert.equal(await differenceOf(before, [file('a'), file('aa'), file('b')]), 'more');
		assert.equal(await differenceOf(before, [file('a'), file('b', 5)]), 'other');
		assert.equal(await differenceOf(before, [file('a'), file('b', 10, 2)]), 'other');
		assert.equal(await differenceOf(before, [file('a'), file('c')]), 'other');
		assert.equal(await differenceOf(before, [file('a.zst'), file('b')]), 'more');
	});

	it('checks each of many files only a few times', async () => {
		const count = 2000;
		let looked = 0;
		const counted = (path: string): FoundFile => ({
			...file(path),
			get path() {
				looked++;
				return path;
			},
		});
		const files = () => Array.from({ length: count }, (_, i) => counted(`episode_${i}.json`));
		assert.equal(await differenceOf(files(), files()), 'none');
		assert.ok(looked <= 4 * count, `${looked} looks`);
	});
});

describe('a link to a run', () => {
	it('can be followed as well as opened', async () => {
		const folder = await realpath(await mkdtemp(join(tmpdir(), 'linked-')));
		try {
			await writeFiles(folder, { 'run/1.jsonl': [{ input: 'p', output: 'o', gts: '1', score: 1, step: 1 }] });
			await symlink(join(folder, 'run'), join(folder, 'link'));
			const events: RunTailEvent[] = [];
			const follower = followRun(join(folder, 'link'), { pollMs: 3_600_000 });
			follower.onEvent((event) => events.push(event));
			await follower.refresh();
			follower.dispose();
			assert.deepEqual(
				events.map((event) => (event.kind === 'rollouts' ? event.steps : event.kind)),
				['record', [1], 'synced'],
			);
			const record = events.find((event) => event.kind === 'record')?.record;
			assert.equal(record?.id, (await (await openRun(join(folder, 'link'))).record()).id);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});
});
