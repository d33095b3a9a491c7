/**
 * Checks that searches guided by learned heads beat a single sample. Trains a policy to medium accuracy and then a
 * value head and a process head for it, and prints the strategy table on 500 held-out problems with one command. To run
 * it manually: train with `reasoning-lab run test/acceptance/searchGain.recipe.json`, then `reasoning-lab
 * compare-strategies --spec test/acceptance/searchGain.comparison.json --policy CHECKPOINT`.
 */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTask } from '../../src/core/dataset/createTask.ts';
import { isHeldOut, taskHeldOutShare } from '../../src/core/dataset/split.ts';
import { taskSource } from '../../src/core/dataset/taskSource.ts';
import type { ComparisonSummary, PointSummary } from '../../src/protocol/strategyComparison.ts';
import { listCheckpoints, readMetrics } from '../../src/runs/runReader.ts';
import { root } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';

const own = (name: string) => join(root, 'test/acceptance', name);

test('majority, weighted best-of-16, beam and MCTS with learned heads beat a single sample on 500 held-out problems', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'gain-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		const recipe = join(folder, 'searchGain.recipe.json');
		await cp(own('searchGain.recipe.json'), recipe);
		await lab(folder, folder, 'run', recipe);
		const runs = join(folder, 'runs');
		const run = join(runs, (await readdir(runs))[0] as string);
		const checkpoint = (await listCheckpoints(run)).at(-1);
		assert.ok(checkpoint);
		const measured = (await readMetrics(run)).filter(({ values }) => values['eval/head/whole_auc'] !== undefined);
		for (const stage of ['value-model', 'process-reward-model']) {
			const auc = measured.findLast((line) => line.stage === stage)?.values['eval/head/whole_auc'] ?? 0;
			console.error(`${stage}: AUC of whole held-out completions ${auc.toFixed(3)}`);
			assert.ok(auc > 0.7, `${stage} ${auc}`);
		}

		const spec = JSON.parse(await readFile(own('searchGain.comparison.json'), 'utf8'));
		const source = taskSource(createTask(spec.problems.task));
		const problems = source.heldOut(500);
		assert.equal(problems.length, 500);
		assert.ok(problems.every(({ key }) => isHeldOut(key, taskHeldOutShare)));

		const compare = ['compare-strategies', '--spec', own('searchGain.comparison.json'), '--policy', checkpoint.path];
		const out = ['--out', join(folder, 'comparison'), '--no-trees'];
		const text = await lab(folder, folder, ...compare, ...out);
		console.error(text);
		// The comparison is complete, so its printed results can be read as data from the folder.
		const summary = JSON.parse(await readFile(join(folder, 'comparison', 'summary.json'), 'utf8')) as ComparisonSummary;
		assert.equal(summary.state, 'ended');
		assert.equal(summary.problems, 500);
		const single = summary.points.find(({ strategy }) => strategy === null);
		assert.ok(
			(single?.accuracy?.mean ?? 0) > 0.25 && (single?.accuracy?.mean ?? 1) < 0.65,
			'the policy has medium accuracy',
		);
		const points = new Map(summary.points.map((point) => [point.name, point]));
		const gain = (name: string) => {
			const point = points.get(name) as PointSummary;
			assert.equal(point.oracle, false, name);
			assert.equal(point.problems, 500, name);
			return point.gain?.low ?? -1;
		};
		assert.ok(gain('majority') > 0);
		for (const strategy of ['weighted best-of-n', 'beam', 'MCTS']) {
			for (const head of ['value', 'process']) assert.ok(gain(`${strategy}, ${head} head`) > 0, `${strategy}, ${head}`);
		}
		assert.equal(points.get('best-of-n, gold answer')?.oracle, true);
		assert.match(text, /best-of-n, gold answer \(oracle upper bound\)/);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
});
