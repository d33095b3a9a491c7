/**
 * Active selection of the steps to label: trains process reward heads from the same start, with the same number of
 * labeled steps per update, chosen by the head or at random. Prints the held-out loss, Brier score and AUC of each
 * after half and all of the updates; which choice is better is reported, not required. Every head must beat a constant.
 * Set SEEDS to run other seeds (default: 1,2,3).
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetrics } from '../../src/runs/runReader.ts';
import { artifacts, root } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');
const choices = ['random', 'uncertainty', 'surprise'] as const;
const measures = ['eval/head/loss', 'eval/head/brier', 'eval/head/auc'] as const;
/** Held-out loss of the best constant value if both outcomes are equally frequent. */
const chance = Math.log(2);

test('heads learn from chosen steps', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'active-labels-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await copyFile(join(root, 'test/acceptance/activeLabels.recipe.json'), join(folder, 'active-labels.recipe.json'));
		for (const seed of seeds) await lab(folder, folder, 'run', 'active-labels.recipe.json', '--set', `seed=${seed}`);
		const runs = (await readdir(join(folder, 'runs'))).sort();
		assert.equal(runs.length, seeds.length);
		const lines = ['| seed | choice | updates | loss | Brier score | AUC |', '|---|---|---:|---:|---:|---:|'];
		for (const [i, run] of runs.entries()) {
			for (const choice of choices) {
				const measured = (await readMetrics(join(folder, 'runs', run, choice))).filter(
					({ values }) => values['eval/head/loss'] !== undefined,
				);
				assert.ok(measured.length >= 2, `${run}: ${choice}`);
				for (const { step, values } of [measured[Math.ceil(measured.length / 2) - 1], measured.at(-1)].flatMap(
					(line) => line ?? [],
				)) {
					const numbers = measures.map((name) => (values[name] as number).toFixed(3));
					lines.push(`| ${seeds[i]} | ${choice} | ${step} | ${numbers.join(' | ')} |`);
				}
				assert.ok((measured.at(-1)?.values['eval/head/loss'] as number) < chance, `${run}: ${choice} has learned`);
			}
		}
		console.error(lines.join('\n'));
		await mkdir(artifacts, { recursive: true });
		await writeFile(join(artifacts, 'active-labels.md'), `${lines.join('\n')}\n`);
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
