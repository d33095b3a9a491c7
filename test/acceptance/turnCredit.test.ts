/**
 * Credit per turn where every turn has a reward: in each of 12 turns, the environment shows a light, and one of six
 * buttons is correct. Compares `credit_assignment` "turn" with "episode", which knows only the sum, and with a control
 * whose advantages are shuffled. Writes test/artifacts/turn-credit.json. Set SEEDS (default: 1,2,3).
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { readMetrics } from '../../src/runs/runReader.ts';
import { artifacts } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';
import { type LightsGame, lightsEnvironment, lightsRecipe, lightsRow } from './lights.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',').map(Number);
const steps = 200;
const game: LightsGame = {
	turns: 12,
	right: { a: 'd', b: 'f', c: 'a', d: 'c', e: 'b', f: 'e' },
	end: '.',
};
const arms = {
	episode: {},
	turn: { credit_assignment: 'turn' },
	shuffled: { credit_assignment: 'turn', control: 'shuffle' },
} as const;
type Arm = keyof typeof arms;

const random = Random.of('lights');
const rows = Array.from({ length: 400 }, (_, i) =>
	lightsRow(game, `${i}`, Array.from({ length: game.turns }, () => 'abcdef'.charAt(random.int(6))).join('')),
);

const recipe = (arm: Arm, seed: number) => ({
	...{ name: `${arm}-${seed}`, seed, ...lightsRecipe(game, 0.1) },
	model: { layers: 1, width: 32, heads: 2 },
	checkpoint: { every: 1000 },
	log: { rolloutsEvery: 1000 },
	stages: [
		{
			...{ type: 'sft', steps: 400, learning_rate: 5e-3, batch_size: 16 },
			demonstrations: { gold: 0.5, maxTurns: game.turns },
		},
		{
			...{ type: 'grpo', steps, learning_rate: 2e-3, prompts_per_step: 1, num_generations: 4 },
			...{ max_completion_length: 20 * game.turns, ...arms[arm] },
		},
	],
});

const folder = await mkdtemp(join(tmpdir(), 'turn-credit-'));
after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));
await mkdir(join(folder, 'r'), { mode: 0o700 });
const results: { readonly arm: Arm; readonly seed: number; readonly rewards: readonly number[] }[] = [];
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** Trains, and returns the mean reward of each tenth of the steps. */
async function trained(arm: Arm, seed: number): Promise<readonly number[]> {
	const project = join(folder, `${arm}-${seed}`);
	await mkdir(project);
	await writeFile(join(project, 'lights.env.ts'), lightsEnvironment(game));
	await writeFile(join(project, 'lights.rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
	await writeFile(join(project, 'lights.recipe.json'), JSON.stringify(recipe(arm, seed)));
	await lab(project, folder, 'run', 'lights.recipe.json', '--json');
	const [run] = await readdir(join(project, 'runs'));
	const earned = (await readMetrics(join(project, 'runs', run as string))).flatMap(({ values: { reward } }) =>
		typeof reward === 'number' ? [reward] : [],
	);
	assert.equal(earned.length, steps);
	const rewards = Array.from({ length: 10 }, (_, i) => mean(earned.slice((i * steps) / 10, ((i + 1) * steps) / 10)));
	results.push({ arm, seed, rewards });
	console.error(JSON.stringify({ arm, seed, rewards: rewards.map((one) => Number(one.toFixed(2))) }));
	await mkdir(artifacts, { recursive: true });
	await writeFile(join(artifacts, 'turn-credit.json'), JSON.stringify(results, null, '\t'));
	return rewards;
}

for (const seed of seeds) {
	test(`seed ${seed}: credit per turn learns faster, and the control learns nothing`, async () => {
		const [episode, turn, shuffled] = [
			await trained('episode', seed),
			await trained('turn', seed),
			await trained('shuffled', seed),
		].map((rewards) => rewards.at(-1) as number);
		assert.ok((turn as number) > (episode as number), `${turn} ${episode}`);
		assert.ok((shuffled as number) < 1, String(shuffled));
	});
}
