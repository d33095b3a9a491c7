/**
 * Training without labels: the template `no-labels`, whose report is kept in test/artifacts. Majority votes and labels
 * must improve accuracy; certainty, self-certainty and the control must not. Set SEEDS to run other seeds (default: 1,2,3).
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

test('a policy gains from majority votes, but not from certainty or shuffled advantages', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'no-labels-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await lab(folder, folder, 'new', 'project', '--template', 'no-labels');
		const project = join(folder, 'project');
		for (const seed of seeds) await lab(project, folder, 'run', 'no-labels.recipe.json', '--set', `seed=${seed}`);
		const runs = (await readdir(join(project, 'runs'))).filter((name) => name.startsWith('no-labels-'));
		assert.equal(runs.length, seeds.length);
		await lab(project, folder, 'report', ...runs.map((run) => `runs/${run}`), '--out', 'report.md');
		await mkdir(artifacts, { recursive: true });
		await copyFile(join(project, 'report.md'), join(artifacts, 'no-labels.md'));
		const { table, gains } = gainsOf(await readFile(join(project, 'report.md'), 'utf8'));
		console.error(table);
		const of = (name: string) => gains.find((gain) => gain.name === name) ?? assert.fail(`${name}: ${table}`);
		for (const name of ['majority', 'labels']) assert.ok(of(name).low > 0, `${name} gains`);
		for (const name of ['certainty', 'self-certainty', 'control'])
			assert.ok(of(name).low <= 0, `${name} does not gain`);
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
