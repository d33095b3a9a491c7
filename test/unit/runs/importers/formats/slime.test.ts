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
	it('adds what samples were trained with to those of the same step', async () => {
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
