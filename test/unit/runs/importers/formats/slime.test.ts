import assert from 'node:assert/strict';
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { fixtureFolder, readAll } from '../foreignFixtures.ts';

async function linesOf(folder: string) {
	const run = await openRun(folder);
	const lines = (await readAll(run)).rollouts.map(({ line }) => line);
	return { run, lines };
}

describe('slime', () => {
	it('adds training data to the samples of the same step', async () => {
		const { run, lines } = await linesOf(fixtureFolder('slime'));
		// Printed by slime_train_data.py: sample index and advantage.
		assert.deepEqual(
			lines.map(({ row, advantage }) => [row, advantage]),
			[
				...[0, 1, 2, 3, 4, 5, 6, 7].map((index) => [index, null]),
				...[8, 9, 10, 11, 12, 13, 14, 15].map((index) => [index, (index - 8) / 4 - 1]),
			],
		);
		const trained = lines[9]?.tokens;
		assert.equal(trained?.text.length, 5);
		assert.deepEqual(trained.oldLogprob, [-0.25, -0.5, -0.75, -1, -1.25]);
		assert.deepEqual(trained.refLogprob, [-0.5, -1, -1.5, -2, -2.5]);
		assert.deepEqual(trained.advantage, [-0.75, -0.75, -0.75, -0.75, -0.75]);
		assert.deepEqual(trained.logprob, [-0.125, -0.25, -0.375, -0.5, -0.625]);
		assert.equal(trained.entropy, undefined);
		assert.equal(lines[1]?.tokens?.oldLogprob, undefined);
		assert.deepEqual(run.faults, []);
	});

	it('adds the training data of miles ranks, from those that have it', async () => {
		const { run, lines } = await linesOf(fixtureFolder('miles'));
		// Printed by miles_train_data.py: the first advantage and the last log-probability of each sample.
		const printed = [
			...[
				[8, 0, -1],
				[9, -1, -1.25],
				[10, 0.25, -1.5],
				[11, -0.75, -1.75],
				[12, 0.5, -2],
				[13, -0.5, -2.25],
			],
			...[
				[14, 0.75, -2.5],
				[15, -0.25, -2.75],
			],
		];
		assert.deepEqual(
			lines.slice(8).map(({ row, advantage, tokens }) => [row, advantage, tokens?.oldLogprob?.at(-1)]),
			printed,
		);
		assert.ok(
			lines.slice(0, 8).every(({ advantage, tokens }) => advantage === null && tokens?.oldLogprob === undefined),
		);
		const trained = lines[9]?.tokens;
		assert.deepEqual(trained?.refLogprob, [-0.5, -1, -1.5, -2, -2.5]);
		assert.deepEqual(trained?.advantage, [-1, -1, -1, -1, -1]);
		assert.deepEqual(run.faults, []);
	});

	it('does not add values that no rank has, or that belong to samples of another step', async () => {
		const folder = await mkdtemp(join(tmpdir(), 'miles-'));
		try {
			await cp(fixtureFolder('miles'), folder, { recursive: true });
			for (const rank of [1, 3]) await rm(join(folder, `train_data/1_${rank}.pt`));
			// The data of step 1, presented as that of step 0, matches none of its samples.
			await cp(join(fixtureFolder('miles'), 'train_data/1_1.pt'), join(folder, 'train_data/0_1.pt'));
			const { run, lines } = await linesOf(folder);
			assert.ok(lines.every(({ advantage, tokens }) => advantage === null && tokens?.oldLogprob === undefined));
			assert.deepEqual(run.faults, []);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});

	it('reads the samples of a step whose training data is damaged, and reports it', async () => {
		const folder = await mkdtemp(join(tmpdir(), 'slime-'));
		try {
			await cp(fixtureFolder('slime'), folder, { recursive: true });
			const path = join(folder, 'train_data/1.pt');
			await writeFile(path, (await readFile(path)).subarray(0, 6000));
			await appendFile(path, 'x');
			const { run, lines } = await linesOf(folder);
			assert.equal(lines.length, 16);
			assert.ok(lines.every(({ advantage }) => advantage === null));
			assert.deepEqual(
				run.faults.map(({ file }) => file),
				['train_data/1.pt'],
			);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});
});
