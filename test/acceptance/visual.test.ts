/**
 * Training with images, from random weights: a tiny vision-language model learns to name the color of a square and to
 * give its bounding box. In the control, pictures and answers are paired at random, so looking does not help. On every
 * seed, held-out accuracy must be above the control's, and above chance. The table is kept in test/artifacts. Set SEEDS
 * to run other seeds (default: 1,2,3).
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readMetrics } from '../../src/runs/runReader.ts';
import { artifacts } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';
import { lab } from './commandLine.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');
const script = fileURLToPath(new URL('../trainer/python/seen_squares.py', import.meta.url));
const tasks = [
	{ task: 'color', reward: { use: 'classification' }, chance: 1 / 4, steps: 120 },
	// Boxes that overlap the gold box earn partial rewards, so the first steps teach little about the exact position.
	{ task: 'place', reward: { use: 'iou', column: 'answer' }, chance: 1 / 9, steps: 240 },
] as const;

interface Trained {
	/** Share of held-out problems solved after training, with its 95% confidence interval. */
	readonly accuracy: number;
	readonly low: number;
	readonly high: number;
	/** Mean reward of the last ten steps. */
	readonly reward: number;
}

const found = await findTestPython(console.log);
assert.ok('python' in found, 'missing' in found ? found.missing : '');
const { python } = found;
const folder = await mkdtemp(join(tmpdir(), 'visual-'));
after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));

test('a vision-language model learns from what it sees', async () => {
	await mkdir(join(folder, 'r'), { mode: 0o700 });
	await runPython({ python, script, args: [folder] });
	process.env.REASONING_LAB_TORCH_PYTHON = python;
	const lines = ['| task | seed | pictures | held-out accuracy | reward |', '|---|---|---|---|---:|'];
	const failures: string[] = [];
	for (const task of tasks) {
		for (const seed of seeds) {
			const own = await trained(task, task.task, seed);
			const mixed = await trained(task, `${task.task}-mixed`, seed);
			for (const [pictures, result] of [
				['its own', own],
				['mixed', mixed],
			] as const) {
				const [accuracy, low, high, reward] = [result.accuracy, result.low, result.high, result.reward].map((value) =>
					value.toFixed(2),
				);
				lines.push(`| ${task.task} | ${seed} | ${pictures} | ${accuracy} (${low} to ${high}) | ${reward} |`);
				console.error(lines.at(-1));
			}
			if (own.low <= Math.max(task.chance, mixed.high)) failures.push(`${task.task}, seed ${seed}`);
		}
	}
	await mkdir(artifacts, { recursive: true });
	await writeFile(join(artifacts, 'visual.md'), `${lines.join('\n')}\n`);
	assert.deepEqual(failures, [], 'accuracy is above chance and above the control');
});

async function trained({ reward, steps }: (typeof tasks)[number], dataset: string, seed: string): Promise<Trained> {
	const recipe = {
		...{ name: dataset, engine: 'pytorch', device: 'cpu', seed: Number(seed), whenBusy: 'share' },
		dataset: { path: `${dataset}.jsonl`, image: 'picture', heldOutShare: 0.25 },
		model: { path: 'model' },
		template: { prompt: '{prompt}', chat: true, think: null, answer: null },
		rewards: [reward],
		pytorch: { precision: 'float32' },
		stages: [
			{
				...{ type: 'grpo', steps, prompts_per_step: 16, num_generations: 8 },
				...{ max_completion_length: 1, learning_rate: 3e-3 },
			},
		],
		evaluate: { every: steps, problems: 100 },
		checkpoint: { every: 1000 },
		log: { rolloutsEvery: steps },
	};
	await writeFile(join(folder, `${dataset}.recipe.json`), JSON.stringify(recipe));
	const runs = join(folder, 'runs');
	await rm(runs, { recursive: true, force: true });
	await lab(folder, folder, 'run', `${dataset}.recipe.json`);
	const [run] = await readdir(runs);
	assert.ok(run !== undefined);
	const metrics = await readMetrics(join(runs, run));
	const number = (name: string) => metrics.findLast(({ values }) => typeof values[name] === 'number')?.values[name];
	const rewards = metrics.flatMap(({ values: { reward } }) => (typeof reward === 'number' ? [reward] : [])).slice(-10);
	return {
		accuracy: number('eval/heldout/accuracy') as number,
		low: number('eval/heldout/accuracy_low') as number,
		high: number('eval/heldout/accuracy_high') as number,
		reward: rewards.reduce((sum, one) => sum + one, 0) / rewards.length,
	};
}
