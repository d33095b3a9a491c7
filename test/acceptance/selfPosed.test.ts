/**
 * Problems that the policy poses: the recipe `self-posed` of the template `no-labels`, whose report is kept in
 * test/artifacts. Training on its own problems must improve accuracy, and the control must not. Set SEEDS to run other
 * seeds (default: 1,2,3).
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
const shown = ['proposals/valid', 'proposals/distinct', 'proposals/solved', 'proposals/learnable'];

test('a policy gains from problems that it poses itself', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'self-posed-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await lab(folder, folder, 'new', 'project', '--template', 'no-labels');
		const project = join(folder, 'project');
		for (const seed of seeds) await lab(project, folder, 'run', 'self-posed.recipe.json', '--set', `seed=${seed}`);
		const runs = (await readdir(join(project, 'runs'))).filter((name) => name.startsWith('self-posed-'));
		assert.equal(runs.length, seeds.length);
		await lab(project, folder, 'report', ...runs.map((run) => `runs/${run}`), '--out', 'report.md');
		await mkdir(artifacts, { recursive: true });
		await copyFile(join(project, 'report.md'), join(artifacts, 'self-posed.md'));
		const { table, gains } = gainsOf(await readFile(join(project, 'report.md'), 'utf8'));
		console.error(table);
		for (const run of runs) {
			for (const stage of ['self-posed', 'unrewarded']) {
				const lines = await readMetrics(join(project, 'runs', run, stage));
				for (const name of shown) {
					const values = lines.flatMap((line) => line.values[name] ?? []);
					const mean = (part: readonly number[]) => part.reduce((sum, value) => sum + value, 0) / part.length;
					console.error(run, stage, name, mean(values.slice(0, 20)).toFixed(3), mean(values.slice(-20)).toFixed(3));
				}
				const inspected = await lab(project, folder, 'inspect', join('runs', run, stage));
				console.error(/^diagnosis: .*$/m.exec(inspected)?.[0]);
			}
		}
		const of = (name: string) => gains.find((gain) => gain.name === name) ?? assert.fail(`${name}: ${table}`);
		assert.ok(of('self-posed').low > 0, 'training on its own problems improves accuracy');
		assert.ok(of('labels').low > 0, 'training on problems from the data improves accuracy');
		assert.ok(of('control').low <= 0, 'the control does not improve');
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
