import assert from 'node:assert/strict';
import { realpath, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { resolveRecipe } from '../../../src/core/recipe/resolve.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { recipeSchema } from '../../../src/protocol/recipeKeys/recipe.ts';
import { describeRollouts, latestRun, readRecordedRollouts } from '../../../src/rewards/recordedRollouts.ts';
import { rolloutPath } from '../../../src/runs/runFiles.ts';
import { RunRegistry } from '../../../src/runs/runRegistry.ts';
import { batch, recipe, VerifyProject } from './verifyProject.ts';

const numbers = () => ({ batch: 0, group: 0 });
const read = (run: string, rows: number, changes = {}) =>
	readRecordedRollouts(run, { rows, numbers: numbers(), ...changes });

describe('the recorded rollouts of a run', () => {
	it('are the last whole generation batches, in order', async (context) => {
		const made = await VerifyProject.make(context);
		const run = await made.run('a', { 1: batch(1, 4, 4), 3: batch(3, 4, 4), 7: batch(7, 4, 4) });
		const last = await read(run, 20);
		assert.deepEqual(last.steps, [7]);
		assert.equal(last.rows.length, 16);
		const two = await read(run, 32);
		assert.deepEqual(two.steps, [3, 7]);
		assert.deepEqual(
			two.lines.map(({ step }) => step),
			[...Array(16).fill(3), ...Array(16).fill(7)],
		);
		assert.deepEqual([...new Set(two.rows.map((row) => row.batch))], [0, 1]);
		assert.equal(new Set(two.rows.map((row) => row.group)).size, 8, 'groups of different steps are not merged');
		assert.equal(describeRollouts(two), 'run a, steps 3 to 7');
		assert.deepEqual((await read(run, 1)).steps, [7], 'the newest batch is always included, and is never split');
		assert.deepEqual((await read(run, 1, { steps: [1, 3] })).steps, [1, 3]);
		const [first] = last.rows;
		assert.deepEqual(first?.row, {
			prompt: '0+1=',
			completion: '<think>t</think><answer>1</answer>',
			answer: '1',
			row: { a: 0, b: 1 },
			truncated: false,
		});
		assert.deepEqual(first?.recorded, { accuracy: 1 });
		assert.deepEqual(first?.place, { file: rolloutPath(run, 7), line: 1 });
	});

	it('are read defensively from an external folder', async (context) => {
		const made = await VerifyProject.make(context);
		const good = batch(2, 1, 2);
		const run = await made.run('a', {
			1: batch(1, 1, 2),
			2: [good[0] as never, 'torn {', '[]', '', good[1] as never, '{"step": "2"}'],
		});
		const torn = await read(run, 10);
		assert.equal(torn.rows.filter((row) => row.batch === 0).length, 2);
		assert.deepEqual(torn.steps, [1, 2]);
		assert.deepEqual(torn.rows.at(-1)?.place, { file: rolloutPath(run, 2), line: 5 });
		assert.match(torn.remarks.join(), /Step 2: skipped 3 lines \(too long, or not a rollout\)/);
		// A link and an empty file are ignored.
		await symlink('/dev/zero', rolloutPath(run, 9));
		await assert.rejects(read(run, 10, { steps: [9] }), Failure);
		await writeFile(rolloutPath(run, 8), '');
		await truncate(rolloutPath(run, 8), 8 << 20);
		const limits = { fileBytes: 1 << 20, lineBytes: 1 << 16, batchRows: 100 };
		await assert.rejects(read(run, 10, { steps: [8], limits }), /no rollouts that can be read/);
	});

	it('are truncated to whole groups if a batch is too large', async (context) => {
		const made = await VerifyProject.make(context);
		const run = await made.run('a', { 1: batch(1, 10, 4) });
		const limits = { fileBytes: 1 << 20, lineBytes: 1 << 16, batchRows: 18 };
		const { rows, remarks } = await read(run, 1000, { limits });
		assert.equal(rows.length, 16);
		assert.match(remarks.join(), /the first 16 are used/);
	});

	it('are rejected with the name of the run if there are none', async (context) => {
		const made = await VerifyProject.make(context);
		const run = await made.run('a', {});
		await assert.rejects(read(run, 10), /has no rollouts\./);
	});
});

describe('the latest run', () => {
	it('is one that used the file, or else the newest in the folders', async (context) => {
		const made = await VerifyProject.make(context);
		const file = made.path('rewards/brevity.reward.ts');
		const registry = new RunRegistry(made.path('home'));
		assert.equal(await latestRun(file, [made.folder], registry), null);
		await made.run('empty', {}, { created: 9000 });
		assert.equal(await latestRun(file, [made.folder], registry), null, 'a run without rollouts is not used');
		const old = await made.run('old', { 1: batch(1, 1, 2) }, { created: 1000 });
		const newer = await made.run('new', { 1: batch(1, 1, 2) }, { created: 2000 });
		assert.equal(await latestRun(file, [made.folder], registry), newer);
		await writeFile(join(old, 'recipe.json'), '{"format": 1, "rewards": []}');
		assert.equal(await latestRun(file, [made.folder], registry), newer, 'an unreadable recipe does not list the file');
		const resolved = resolveRecipe(decodeOrThrow(recipeSchema, recipe(), 'recipe'), {
			cores: 1,
			resolvePath: (path) => path,
		});
		await writeFile(join(old, 'recipe.json'), JSON.stringify(resolved));
		assert.equal(await latestRun(file, [made.folder], registry), old);
		// In another folder, but registered, and it used the file.
		await registry.add(old);
		assert.equal(await latestRun(file, [made.path('empty-folder')], registry), await realpath(old));
		await registry.add(newer);
		assert.equal(await latestRun(made.path('rewards/other.reward.ts'), [made.path('empty-folder')], registry), null);
	});
});
