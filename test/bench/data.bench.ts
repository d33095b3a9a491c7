import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as v from 'valibot';
import { dataSpecSchema } from '../../src/protocol/dataSpec.ts';
import { generateData } from '../../src/search/data/generateData.ts';
import { PolicyPool } from '../../src/search/policyPool.ts';
import type { Bench, Measurement } from './measurement.ts';

const problems = 10_000;
/** Number of warm-up problems: fills the caches and the pool of concurrent problems. */
const warm = 2000;

const thought = 'a line of thought that is about as long as one is\n';
const say = (answer: string, weight: number) => ({
	text: `<think>${thought.repeat(4)}${answer}\n</think><answer>${answer}</answer>`,
	weight,
});

/** Generation of training data from 10,000 problems: throughput and memory use. */
export const bench: Bench = {
	title: `training data by MCTS over ${problems} problems of a scripted policy`,
	async run() {
		setFlagsFromString('--expose-gc');
		const collect = runInNewContext('gc') as () => void;
		const folder = await mkdtemp(join(tmpdir(), 'bench-data-'));
		const pool = new PolicyPool(0);
		const memory: { heap: number; rss: number }[] = [];
		const look = () => {
			collect();
			const { heapUsed, rss } = process.memoryUsage();
			memory.push({ heap: heapUsed / 1e6, rss: rss / 1e6 });
		};
		try {
			const rule = { prompt: 'problem *', say: [say('$1', 4), say('100', 3), say('200', 3)] };
			await writeFile(join(folder, 'policy.jsonl'), JSON.stringify(rule));
			const rows = Array.from(
				{ length: problems },
				(_, i) => `${JSON.stringify({ prompt: `problem ${i}`, answer: i })}\n`,
			);
			await writeFile(join(folder, 'problems.jsonl'), rows.join(''));
			const spec = v.parse(dataSpecSchema, {
				problems: { from: 'file', path: 'problems.jsonl' },
				search: {
					policy: { kind: 'scripted', file: 'policy.jsonl' },
					strategy: 'mcts',
					params: { simulations: 8, evaluation: 'rollout' },
					guide: { use: 'mean-logprob' },
				},
				exports: ['solutions', 'journey', 'dpo'],
			});
			let next = warm;
			const made = await generateData({
				spec,
				folder: join(folder, 'data'),
				context: { pool, policies: { engine: '', client: 'bench', folder } },
				onProgress: ({ problems: done }) => {
					if (done < next) return;
					next += warm;
					look();
				},
			});
			const [first, last] = [memory[0], memory.at(-1)] as { heap: number; rss: number }[];
			const measured = (name: string, unit: string, value: number): Measurement => ({ name, unit, samples: [value] });
			return [
				measured('data: problems', '1/s', made.problems / made.seconds),
				measured(`data: heap after ${warm} problems`, 'MB', first?.heap ?? Number.NaN),
				measured(`data: heap growth to ${problems} problems`, 'MB', (last?.heap ?? 0) - (first?.heap ?? 0)),
				measured(`data: resident memory after ${warm} problems`, 'MB', first?.rss ?? Number.NaN),
				measured(`data: resident memory growth to ${problems} problems`, 'MB', (last?.rss ?? 0) - (first?.rss ?? 0)),
			];
		} finally {
			pool.dispose();
			await rm(folder, { recursive: true, force: true });
		}
	},
};
