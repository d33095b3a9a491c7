/**
 * Latent thoughts compared with written steps: the same recipe with `latent` and without it, on the same problems. Prints
 * the held-out accuracy and the positions that the policy spends on a completion, by number of latent thoughts; which of
 * the two is better is reported, not required. The written steps, which latent thoughts start from, must be learned. The
 * table is kept in test/artifacts. Set SEEDS to run other seeds (default: 1,2,3).
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readEvaluationLines, readMetrics } from '../../src/runs/runReader.ts';
import { artifacts, root } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');
const forms = ['latent', 'written'] as const;
type Form = (typeof forms)[number];

interface Measured {
	readonly step: number;
	/** Number of latent thoughts before each completion. */
	readonly thoughts: number;
	/** Share of held-out problems solved, from 0 to 1. */
	readonly accuracy: number;
	/** Mean number of positions per completion: tokens written and latent thoughts. */
	readonly positions: number;
}

test('latent thoughts are compared with written steps', async () => {
	const home = await mkdtemp(join(tmpdir(), 'latent-'));
	try {
		await mkdir(join(home, 'r'), { mode: 0o700 });
		const source = await readFile(join(root, 'test/acceptance/latent.recipe.json'), 'utf8');
		const lines = [
			'| seed | policy | updates | latent thoughts | accuracy | positions |',
			'|---|---|---:|---:|---:|---:|',
		];
		const last: Record<Form, Measured[]> = { latent: [], written: [] };
		for (const seed of seeds) {
			for (const form of forms) {
				const folder = join(home, `${form}-${seed}`);
				await mkdir(folder);
				await writeFile(join(folder, 'it.recipe.json'), form === 'latent' ? source : withoutLatent(source));
				const started = performance.now();
				await lab(folder, home, 'run', 'it.recipe.json', '--set', `seed=${seed}`);
				const [run] = await readdir(join(folder, 'runs'));
				assert.ok(run !== undefined);
				const measured = await measure(join(folder, 'runs', run));
				const seconds = (performance.now() - started) / 1000;
				const rows = measured.map(
					({ step, thoughts, accuracy, positions }) =>
						`| ${seed} | ${form} | ${step} | ${thoughts} | ${(100 * accuracy).toFixed(1)}% | ${positions.toFixed(1)} |`,
				);
				console.error(`${form}, seed ${seed}: ${seconds.toFixed(0)} s\n${rows.join('\n')}`);
				lines.push(...rows);
				last[form].push(measured.at(-1) as Measured);
			}
		}
		await mkdir(artifacts, { recursive: true });
		await writeFile(join(artifacts, 'latent.md'), `${lines.join('\n')}\n`);
		for (const [i, { accuracy }] of last.written.entries()) {
			assert.ok(accuracy >= 0.9, `seed ${seeds[i]}: written steps were learned (${accuracy})`);
		}
		for (const [i, { positions, thoughts }] of last.latent.entries()) {
			assert.equal(thoughts, 3);
			assert.ok(positions < (last.written[i] as Measured).positions, `seed ${seeds[i]}: latent thoughts are shorter`);
		}
	} finally {
		await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});

/** The control: as many updates, with all steps written. */
function withoutLatent(recipe: string): string {
	const changed = recipe.replace(/,\s*"latent": \{[^}]*\}/, '');
	assert.notEqual(changed, recipe);
	return changed;
}

async function measure(run: string): Promise<Measured[]> {
	const evaluated = (await readMetrics(run)).filter(({ values }) => values['eval/heldout/accuracy'] !== undefined);
	const measured: Measured[] = [];
	for (const { step, values } of evaluated) {
		const samples = await readEvaluationLines(run, step, 'heldout').catch(() => []);
		if (samples.length === 0) continue;
		const thoughts = (samples[0]?.extra?.thoughts as unknown[] | undefined)?.length ?? 0;
		// Tokens are characters and tags.
		const tokens = samples.map(({ completion }) => [...String(completion).replaceAll(/<\/?[a-z]+>/g, '#')].length);
		const positions = thoughts + tokens.reduce((sum, count) => sum + count, 0) / tokens.length;
		measured.push({ step, thoughts, accuracy: values['eval/heldout/accuracy'] as number, positions });
	}
	return measured;
}
