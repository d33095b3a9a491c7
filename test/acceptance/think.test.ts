/**
 * Runs the template `think` on three seeds and checks its claims: R1-Zero solves more, thinks longer and backtracks
 * more often than its base model, and solves less when its thinking is cut short or had no room in training. The report
 * is kept in test/artifacts. Set SEEDS to run other seeds (default: 1,2,3).
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ComparedClaim } from '../../src/core/report/pipelineSections.ts';
import { artifacts } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');
/** Maximum time per seed, in seconds. */
const longest = 60 * 60;

test('thinking grows with accuracy on three seeds, and cutting it costs accuracy', async () => {
	const home = await mkdtemp(join(tmpdir(), 'think-'));
	try {
		await mkdir(join(home, 'r'), { mode: 0o700 });
		await lab(home, home, 'new', 'think', '--template', 'think');
		const folder = join(home, 'think');
		for (const seed of seeds) {
			const started = performance.now();
			const result = await lab(folder, home, 'run', 'think.recipe.json', '--seed', seed);
			const seconds = (performance.now() - started) / 1000;
			console.error(`seed ${seed}: ${seconds.toFixed(0)} s\n${result.slice(result.lastIndexOf('\nstage '))}`);
			assert.ok(seconds <= longest, `seed ${seed} took ${seconds} s`);
		}
		const pipelines = (await readdir(join(folder, 'runs'))).map((name) => join('runs', name));
		const out = join(folder, 'report.md');
		const json = await lab(folder, home, 'report', ...pipelines, '--out', out, '--json');
		await mkdir(artifacts, { recursive: true });
		await copyFile(out, join(artifacts, 'think.md'));
		const markdown = await readFile(out, 'utf8');
		const start = markdown.indexOf('## Gain by stage');
		console.error(markdown.slice(start, markdown.indexOf('\n## ', start + 4)));
		const { claims } = JSON.parse(json.trim().split('\n').at(-1) as string) as { claims: ComparedClaim[] };
		assert.ok(claims.length >= 5);
		for (const { claim, pipelines: of } of claims) {
			assert.equal(of.length, seeds.length);
			for (const { seed, verdict } of of) assert.equal(verdict?.holds, true, `${claim}, ${seed}`);
		}
	} finally {
		await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
