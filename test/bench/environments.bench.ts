import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { scriptPolicy } from '../../src/core/episode/episodePolicies.ts';
import { solutionOf } from '../../src/core/episode/solution.ts';
import { environmentData } from '../../src/episodes/environmentData.ts';
import { EnvironmentRunner } from '../../src/episodes/environmentRunner.ts';
import { runEpisode } from '../../src/episodes/runEpisode.ts';
import { verifyEnvironment } from '../../src/episodes/verifyEnvironment.ts';
import { RewardHosts } from '../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../src/rewards/rewardPrograms.ts';
import { root } from '../scripts/paths.ts';
import type { Bench, Measurement } from './measurement.ts';

const templates = join(root, 'media/templates/environment');

/** Writes a template to a folder and returns its file. */
async function made(folder: string, name: string, ending: 'py' | 'ts' = 'py'): Promise<string> {
	const file = join(folder, `${name}.env.${ending}`);
	const text = await readFile(join(templates, `${name}.env.${ending}`), 'utf8');
	await writeFile(file, text.replaceAll('__CLASS__', 'Made').replaceAll('__NAME__', name));
	await writeFile(join(folder, `${name}.rows.jsonl`), await readFile(join(templates, `${name}.rows.jsonl`)));
	return file;
}

/** Ways to play an episode: in one request, or turn by turn as in training, with or without the states in rollouts. */
const ways = {
	'in one request': { together: true, state: false },
	'turn by turn': { together: false, state: false },
	'turn by turn with states': { together: false, state: true },
};

/** Number-guessing episodes per second, played with the solutions. */
async function episodesPerSecond(
	hosts: RewardHosts,
	file: string,
	seconds: number,
	{ together, state }: (typeof ways)[keyof typeof ways],
): Promise<number> {
	const runner = new EnvironmentRunner(hosts, file);
	const { rows } = await environmentData({ file, rows: 24, seed: 1 });
	await runner.describe();
	const start = performance.now();
	let count = 0;
	for (; performance.now() - start < 1000 * seconds; count++) {
		const { row, columns } = rows[count % rows.length] as (typeof rows)[number];
		const session = runner.start(columns, { state });
		const script = solutionOf(columns).turns ?? [];
		const { reward } = await runEpisode({
			...{ session, row, columns, policy: 'gold', act: scriptPolicy(script), maxTurns: 100, ownsReward: true },
			...(together ? { script } : {}),
		});
		await session.end();
		if (reward !== 1) throw new Error(`The solution for row ${row + 1} earned ${reward}.`);
	}
	const rate = count / ((performance.now() - start) / 1000);
	runner.dispose();
	return rate;
}

/**
 * Time from a save until the inline result is known, in seconds: 12 rows of the calculator, with a spare host ready.
 */
async function saveSeconds(hosts: RewardHosts, file: string, count: number): Promise<number[]> {
	const lease = hosts.lease('python', 'environment');
	const samples: number[] = [];
	for (let i = 0; i < count; i++) {
		await wait(600);
		const start = performance.now();
		const runner = new EnvironmentRunner(hosts, file);
		const data = await environmentData({ file, rows: 12, seed: 1 });
		await verifyEnvironment(runner, data, { turns: 20, seed: 1 });
		samples.push((performance.now() - start) / 1000);
		runner.dispose();
	}
	lease.dispose();
	return samples;
}

export const bench: Bench = {
	title: 'episodes in the Python and Node hosts, and verification on save',
	async run({ rounds, tiny }) {
		const folder = await mkdtemp(join(tmpdir(), 'environments-'));
		const hosts = new RewardHosts(await findRewardPrograms(), { folder: join(root, 'src/rewards'), spares: true });
		try {
			const guess = { Python: await made(folder, 'guess'), Node: await made(folder, 'guess', 'ts') };
			const calculator = await made(folder, 'calculator');
			const measurements: Measurement[] = [];
			for (const [language, file] of Object.entries(guess)) {
				for (const [how, way] of Object.entries(ways)) {
					const samples: number[] = [];
					for (let i = 0; i < rounds; i++) samples.push(await episodesPerSecond(hosts, file, tiny ? 0.1 : 2, way));
					measurements.push({ name: `number guessing in ${language}, episodes ${how}`, unit: 'episodes/s', samples });
				}
			}
			const saves = (await saveSeconds(hosts, calculator, tiny ? 2 : 10 * rounds)).sort((a, b) => a - b);
			const p95 = saves[Math.min(saves.length - 1, Math.floor(0.95 * saves.length))] as number;
			measurements.push({ name: 'save to inline, calculator', unit: 's', samples: saves });
			measurements.push({ name: 'save to inline, calculator, p95', unit: 's', samples: [p95] });
			return measurements;
		} finally {
			hosts.dispose();
			await hosts.closed();
			await rm(folder, { recursive: true, force: true });
		}
	},
};
