/**
 * Self-rewarding: the recipe `self-rewarding` of the template `no-labels`, whose report is kept in test/artifacts.
 * Labels must improve accuracy and the control must not; the effect of the policy's own verdicts is only printed. Set
 * SEEDS to run other seeds (default: 1,2,3).
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

test('a policy gains from labels, and its gain from its own verdicts is reported', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'self-rewarding-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await lab(folder, folder, 'new', 'project', '--template', 'no-labels');
		const project = join(folder, 'project');
		for (const seed of seeds) await lab(project, folder, 'run', 'self-rewarding.recipe.json', '--set', `seed=${seed}`);
		const runs = (await readdir(join(project, 'runs'))).filter((name) => name.startsWith('self-rewarding-'));
		assert.equal(runs.length, seeds.length);
		await lab(project, folder, 'report', ...runs.map((run) => `runs/${run}`), '--out', 'report.md');
		await mkdir(artifacts, { recursive: true });
		await copyFile(join(project, 'report.md'), join(artifacts, 'self-rewarding.md'));
		const { table, gains } = gainsOf(await readFile(join(project, 'report.md'), 'utf8'));
		console.error(table);
		for (const run of runs) {
			const place = join('runs', run, 'self-judge');
			const lines = await readMetrics(join(project, place));
			for (const name of ['rewards/self-judge/mean', 'rewards/accuracy/mean']) {
				const values = lines.flatMap((line) => line.values[name] ?? []);
				const mean = (part: readonly number[]) => part.reduce((sum, value) => sum + value, 0) / part.length;
				console.error(run, name, mean(values.slice(0, 20)).toFixed(3), mean(values.slice(-20)).toFixed(3));
			}
			console.error(/^diagnosis: .*$/m.exec(await lab(project, folder, 'inspect', place))?.[0]);
		}
		const of = (name: string) => gains.find((gain) => gain.name === name) ?? assert.fail(`${name}: ${table}`);
		assert.ok(of('labels').low > 0, 'training with labels improves accuracy');
		assert.ok(of('control').low <= 0, 'the control does not improve');
		of('self-judge');
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
