/**
 * Compares losses: runs the template `algorithms` with three seeds within an hour, and keeps its report, with one
 * table, in test/artifacts. The control with shuffled advantages must not gain; at least half of the variants must. Set
 * SEEDS to run other seeds.
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { artifacts } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';
import { gainsOf } from './siblingGains.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');

test('ten losses and three other variants from the same start: most gain, and the control does not', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'algorithms-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await lab(folder, folder, 'new', 'project', '--template', 'algorithms');
		const project = join(folder, 'project');
		const began = performance.now();
		for (const seed of seeds) await lab(project, folder, 'run', 'algorithms.recipe.json', '--set', `seed=${seed}`);
		const minutes = (performance.now() - began) / 60_000;
		console.error(`${seeds.length} seeds: ${minutes.toFixed(1)} min`);
		const runs = (await readdir(join(project, 'runs'))).filter((name) => name.startsWith('algorithms-'));
		assert.equal(runs.length, seeds.length);
		await lab(project, folder, 'report', ...runs.map((run) => `runs/${run}`), '--out', 'report.md');
		await mkdir(artifacts, { recursive: true });
		await copyFile(join(project, 'report.md'), join(artifacts, 'algorithms.md'));
		const { table, gains: rows } = gainsOf(await readFile(join(project, 'report.md'), 'utf8'));
		console.error(table);
		assert.equal(rows.length, 14, table);
		const [control] = rows.filter(({ name }) => name === 'control');
		assert.ok(control && control.low <= 0, 'the control with shuffled advantages does not gain');
		const gained = rows.filter(({ low }) => low > 0);
		assert.ok(gained.length >= 7, `${gained.length} variants gained`);
		assert.ok(minutes < 60, `${minutes} min`);
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
