/**
 * Expert iteration: over three rounds of search and training, pass@1 on held-out problems rises, the confidence
 * intervals of the first and last rounds do not overlap, and the additional gain from best-of-8 with the value model
 * shrinks as the policy absorbs it. To run it manually: `reasoning-lab new --template expert-iteration x`, run its
 * recipe, `pipeline status`. Set SEEDS=1,2,3 to run several seeds; the default is the recipe's seed.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RoundSeries } from '../../src/core/pipeline/rounds.ts';
import { lab } from './commandLine.ts';

const seeds = (process.env.SEEDS ?? '1').split(',');

for (const seed of seeds) {
	test(`pass@1 on held-out problems rises over three rounds while the gain from search shrinks (seed ${seed})`, async () => {
		const folder = await mkdtemp(join(tmpdir(), 'expert-'));
		try {
			await mkdir(join(folder, 'r'), { mode: 0o700 });
			await lab(folder, folder, 'new', 'project', '--template', 'expert-iteration');
			const project = join(folder, 'project');
			const began = performance.now();
			await lab(project, folder, 'run', 'expert-iteration.recipe.json', '--seed', seed);
			const seconds = Math.round((performance.now() - began) / 1000);
			console.error(await lab(project, folder, 'pipeline', 'status', 'expert-iteration'));
			console.error(`seed ${seed}: ${seconds} s`);
			const result = JSON.parse(await lab(project, folder, 'pipeline', 'status', 'expert-iteration', '--json'));
			const [{ of, points }] = result.pipelines[0].rounds as [RoundSeries];
			assert.equal(of, 'measure');
			assert.deepEqual(
				points.map(({ number, problems }) => [number, problems]),
				[0, 1, 2, 3].map((number) => [number, 500]),
			);
			const [start, first, second, last] = points.map(({ accuracy }) => accuracy);
			assert.ok(start && first && second && last);
			assert.ok(start.accuracy > 0.2 && start.accuracy < 0.5, 'the starting policy solves some problems');
			assert.ok(start.high < first.low, 'the first round improves on the starting policy');
			assert.ok(
				first.accuracy < second.accuracy && second.accuracy < last.accuracy,
				'every round improves on the previous one',
			);
			assert.ok(first.high < last.low, 'the intervals of the first and last rounds do not overlap');
			const gains = points.map(({ gain }) => {
				assert.deepEqual([gain?.by, gain?.k], ['judge', 8]);
				return gain as NonNullable<typeof gain>;
			});
			for (const gain of gains) assert.ok(gain.low > 0, 'search beats a single sample');
			for (const [i, { mean }] of gains.slice(1).entries())
				assert.ok(mean < (gains[i]?.mean ?? 0), 'the gain from search shrinks');
			assert.ok(
				(gains[3]?.high ?? 1) < (gains[0]?.low ?? 0),
				'the intervals of the first and last gains do not overlap',
			);
		} finally {
			await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
		}
	});
}
