/**
 * Problems chosen by pass rate: the template `curriculum`, whose report is kept in test/artifacts. In the second half
 * of training, fewer groups must be dead than with the uniform control, and every stage must beat the start. Whether a
 * curriculum gains more than the control is printed, not required. Set SEEDS to run other seeds (default: 1,2,3).
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetrics } from '../../src/runs/runReader.ts';
import { artifacts } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';
import { gainsOf } from './siblingGains.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');
const stages = ['uniform', 'range', 'target'] as const;

/** Returns the mean of a metric over the second half of a stage. */
async function lateMean(run: string, name: string): Promise<number> {
	const values = (await readMetrics(run)).flatMap((line) => line.values[name] ?? []);
	const late = values.slice(values.length / 2);
	assert.ok(late.length > 50, `${name} in ${run}`);
	return late.reduce((sum, value) => sum + value, 0) / late.length;
}

test('a curriculum has fewer dead groups than a uniform choice', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'curriculum-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await lab(folder, folder, 'new', 'project', '--template', 'curriculum');
		const project = join(folder, 'project');
		for (const seed of seeds) await lab(project, folder, 'run', 'curriculum.recipe.json', '--set', `seed=${seed}`);
		const runs = (await readdir(join(project, 'runs'))).filter((name) => name.startsWith('curriculum-'));
		assert.equal(runs.length, seeds.length);
		await lab(project, folder, 'report', ...runs.map((run) => `runs/${run}`), '--out', 'report.md');
		await mkdir(artifacts, { recursive: true });
		await copyFile(join(project, 'report.md'), join(artifacts, 'curriculum.md'));
		const { table, gains } = gainsOf(await readFile(join(project, 'report.md'), 'utf8'));
		console.error(table);
		for (const run of runs) {
			const dead = new Map<string, number>();
			for (const stage of stages) {
				const place = join(project, 'runs', run, stage);
				dead.set(stage, await lateMean(place, 'groups/dead'));
				console.error(run, stage, 'dead', dead.get(stage), 'avoided', await lateMean(place, 'curriculum/dead_avoided'));
			}
			const uniform = dead.get('uniform') as number;
			assert.ok((dead.get('range') as number) < uniform, `${run}: range`);
			assert.ok((dead.get('target') as number) < 0.7 * uniform, `${run}: target`);
		}
		for (const stage of stages) {
			const gain = gains.find(({ name }) => name === stage) ?? assert.fail(`${stage}: ${table}`);
			assert.ok(gain.low > 0, `${stage} gains`);
		}
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
