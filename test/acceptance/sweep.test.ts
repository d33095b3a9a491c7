import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallRecipe } from '../e2e/smallRecipe.ts';
import { lab } from './commandLine.ts';

interface Result {
	readonly label: string;
	readonly folder: string;
	readonly rung: number;
	readonly score: number | null;
	readonly status: string;
	readonly step: number;
}

test('a sweep with halving stops the worse runs at the first rung, and finishes the best', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'rl-sweep-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	await mkdir(join(folder, 'r'), { mode: 0o700 });
	const recipe = { ...smallRecipe(40, 40), evaluate: { every: 10, problems: 16 }, checkpoint: { every: 10, keep: 2 } };
	await writeFile(join(folder, 'small.recipe.json'), JSON.stringify(recipe));
	const options = [
		'--vary',
		'stages.0.learning_rate=1e-7,3e-3',
		'--seeds',
		'2',
		'--halving',
		'--eta',
		'2',
		'--first',
		'40',
	];
	const text = await lab(folder, folder, 'sweep', 'small.recipe.json', ...options, '--metric', 'entropy', '--json');
	const lines = text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	const plan = lines.find(({ kind }) => kind === 'plan');
	assert.deepEqual([plan.rungs, plan.counts, plan.cost], [[40, 80], [4, 2], 4 * 40 + 2 * 40]);
	const { results } = lines.find(({ kind }) => kind === 'results') as { results: Result[] };
	assert.equal(results.length, 4);
	const kept = results.filter(({ rung }) => rung === 1);
	assert.deepEqual(
		kept.map(({ status, step }) => [status, step]),
		[
			['finished', 80],
			['finished', 80],
		],
	);
	// A model that has learned nothing has the highest entropy.
	assert.ok(
		kept.every(({ label }) => label.startsWith('learning_rate=1e-7')),
		JSON.stringify(results),
	);
	for (const { folder: run, label, status } of results) {
		const { name, tags } = JSON.parse(await readFile(join(run, 'annotations/person.json'), 'utf8'));
		assert.deepEqual([name, tags], [label, ['sweep']]);
		assert.match(status, /finished|stopped/);
	}
});
