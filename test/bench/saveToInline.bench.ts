import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { RewardSession } from '../../src/extension/rewards/rewardSession.ts';
import { inlineLine } from '../../src/extension/rewards/rewardWords.ts';
import { RewardHosts } from '../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../src/rewards/rewardPrograms.ts';
import { RewardVerifier } from '../../src/rewards/rewardVerifier.ts';
import type { Bench, BenchOptions, Measurement } from './measurement.ts';

const starter = join(import.meta.dirname, '../../media/templates/starter');

/**
 * Rewards from the starter project, verified on 200 dataset rows, with labeled cases and the recipe's other rewards.
 */
const files = { TypeScript: 'steps.reward.ts', Python: 'concise.reward.py' } as const;

function percentile(samples: readonly number[], share: number): number {
	const sorted = samples.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}

async function run({ rounds }: BenchOptions): Promise<Measurement[]> {
	const folder = await mkdtemp(join(tmpdir(), 'rlb-'));
	const dist = join(folder, 'dist');
	const { rewardHost, rewardPython } = bundles({ production: true, dist });
	await esbuild.build(rewardHost as esbuild.BuildOptions);
	await esbuild.build(rewardPython as esbuild.BuildOptions);
	const project = join(folder, 'project');
	await cp(starter, project, { recursive: true });
	const options = { folder: dist, spares: true, reloadOnChange: true, coverage: true, environment: process.env };
	const hosts = new RewardHosts(await findRewardPrograms(), options);
	const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
	const measurements: Measurement[] = [];
	try {
		for (const [language, name] of Object.entries(files)) {
			const file = join(project, 'rewards', name);
			const text = await readFile(file, 'utf8');
			const session = new RewardSession(file, {
				verifier: async () => verifier,
				request: () => ({ file, folders: [project], rows: 200, text }),
				limits: () => ({}),
				coverage: () => true,
				log: () => {},
			});
			const reward = name.split('.')[0] as string;
			await session.verify();
			const times: number[] = [];
			for (let i = 0; i < 20 * rounds; i++) {
				// Wait until the spare process is ready, as it would be after a user has typed.
				await new Promise((resolve) => setTimeout(resolve, 700));
				await writeFile(file, `${text}${'\n'.repeat(1 + (i % 7))}`);
				const start = performance.now();
				await session.verify();
				const line = inlineLine(session.state, reward);
				times.push(performance.now() - start);
				if (session.state.phase !== 'done' || line === null) throw session.state.failure ?? new Error('no line');
			}
			measurements.push(
				{ name: `save to inline result, ${language}, p95`, unit: 'ms', samples: [percentile(times, 0.95)] },
				{ name: `save to inline result, ${language}, median`, unit: 'ms', samples: times },
			);
			session.dispose();
		}
	} finally {
		verifier.dispose();
		hosts.dispose();
		await hosts.closed();
		await rm(folder, { recursive: true, force: true });
	}
	return measurements;
}

export const bench: Bench = { title: 'from saving a reward file to its inline result, 200 rows', run };
