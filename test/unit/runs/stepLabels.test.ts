import assert from 'node:assert/strict';
import { appendFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RolloutLabels, StepRating } from '../../../src/protocol/stepLabel.ts';
import { annotationFolder } from '../../../src/runs/annotationFolder.ts';
import { StepLabels } from '../../../src/runs/stepLabels.ts';
import { startHelper, temporaryFolder } from './runFixtures.ts';

const place = { split: 'train', step: 3, group: 1, index: 0 } as const;
const labels = (index: number, ...ratings: (StepRating | null)[]): RolloutLabels => ({
	format: 1,
	time: 1000 + index,
	...place,
	index,
	prompt: '1+2=',
	answer: '3',
	rule: 'lines',
	steps: ratings.map((rating, i) => ({ text: `step ${i}\u2028`, rating })),
});

test('the last line for a rollout counts, and undo appends the previous labels', async (context) => {
	const folder = join(await temporaryFolder(context), 'run', 'annotations');
	const mine = new StepLabels(folder);
	assert.equal(await mine.get(place), null);
	assert.deepEqual(await mine.all(), []);
	await mine.save(labels(0, 1, null));
	await mine.save(labels(1, -1));
	await mine.save(labels(0, 1, -1));
	assert.deepEqual(await mine.get(place), labels(0, 1, -1));
	assert.deepEqual(
		(await mine.all()).map(({ index }) => index),
		[0, 1],
	);

	assert.deepEqual(await mine.undo(place, 2000), { ...labels(0, 1, null), time: 2000 });
	assert.deepEqual(
		(await mine.undo(place, 2001))?.steps.map(({ rating }) => rating),
		[null, null],
		'there were no labels before',
	);
	assert.equal(await mine.undo(place, 2002), null);
	const lines = (await readFile(join(folder, 'labels.jsonl'), 'utf8')).split('\n');
	assert.equal(lines.length, 6, 'every change appends a line');
	assert.deepEqual(
		(await new StepLabels(folder).get(place))?.steps.map(({ rating }) => rating),
		[null, null],
	);
});

test('partial and unknown lines are skipped and counted, without affecting others', async (context) => {
	const folder = await temporaryFolder(context);
	const file = join(folder, 'labels.jsonl');
	await writeFile(file, `${JSON.stringify(labels(0, 1))}\nnot JSON\n{"format":2}\n{"format":1,"split":"tr`);
	const mine = new StepLabels(folder);
	assert.equal((await mine.all()).length, 1);
	assert.equal(mine.unreadable, 2);
	await mine.save(labels(1, -1));
	assert.equal((await mine.all()).length, 2);
	assert.equal(mine.unreadable, 3, 'the next save ends the partial line');
	// Another window rewrites the file.
	await writeFile(file, `${JSON.stringify(labels(2, 0))}\n`);
	assert.deepEqual(
		(await mine.all()).map(({ index }) => index),
		[2],
	);
	assert.equal(mine.unreadable, 0);
	await appendFile(file, `${JSON.stringify(labels(2, 1))}\n`);
	assert.deepEqual(
		(await mine.get({ ...place, index: 2 }))?.steps[0]?.rating,
		1,
		'a change from another window is read',
	);
});

test('several processes label concurrently without losing any labels', async (context) => {
	const folder = join(await temporaryFolder(context), 'annotations');
	const helpers = [0, 1, 2, 3].map((n) => startHelper(context, 'labeler.ts', folder, String(n), '50'));
	assert.deepEqual(await Promise.all(helpers.map(({ ended }) => ended)), [0, 0, 0, 0]);
	const mine = new StepLabels(folder);
	const all = await mine.all();
	assert.equal(all.length, 200);
	assert.equal(mine.unreadable, 0);
	assert.ok(all.every(({ steps }) => steps.length === 200));
});

test('nothing is written through a link or next to an external run', async (context) => {
	const folder = await temporaryFolder(context);
	const outside = join(folder, 'outside');
	await mkdir(outside);
	await symlink(outside, join(folder, 'annotations'));
	await assert.rejects(new StepLabels(join(folder, 'annotations')).save(labels(0, 1)), { reason: 'invalid' });
	await assert.rejects(new StepLabels(join(folder, 'annotations')).all(), { reason: 'invalid' });
	await mkdir(join(folder, 'own'));
	await writeFile(join(outside, 'target'), '');
	await symlink(join(outside, 'target'), join(folder, 'own', 'labels.jsonl'));
	await assert.rejects(new StepLabels(join(folder, 'own')).save(labels(0, 1)), { reason: 'invalid' });
	await assert.rejects(new StepLabels(join(folder, 'own')).all(), { reason: 'invalid' });
	assert.equal(await readFile(join(outside, 'target'), 'utf8'), '');
	const foreign = await annotationFolder({ folder: outside, format: 'trl' }, join(folder, 'home'));
	assert.ok(foreign.startsWith(join(folder, 'home', 'annotations')));
});
