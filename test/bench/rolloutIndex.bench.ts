import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import { IndexClient } from '../../src/extension/rolloutIndex/indexClient.ts';
import type { TextQuery } from '../../src/protocol/rolloutIndex.ts';
import { openRun } from '../../src/runs/openRun.ts';
import type { Bench, Measurement } from './measurement.ts';
import { makeRolloutFolder } from './rolloutFolder.ts';

/**
 * Number of rollouts in the test run. The default of 1,000,000 takes 5 GB in the system's temporary folder, deleted
 * afterwards. BENCH_ROLLOUTS makes the run smaller, BENCH_FOLDER moves it, and BENCH_FORMAT=verl writes verl's files.
 * All file measurements use a warm cache: the files were just written and are read twice.
 */
const rollouts = Number(process.env.BENCH_ROLLOUTS ?? 1_000_000);

const program = fileURLToPath(new URL('../../src/rolloutIndex/main.ts', import.meta.url));
const verl = process.env.BENCH_FORMAT === 'verl';
const groups = 125;

const searches: readonly (readonly [name: string, query: TextQuery])[] = [
	['regular expression with a literal', { pattern: 'kal[a-z]+scope', regex: true, caseSensitive: true }],
	['text, ignoring case', { pattern: 'Kaleidoscope', regex: false, caseSensitive: false }],
	['rare regular expression with a three-letter literal', { pattern: 'q[a-z]*zqx', regex: true, caseSensitive: true }],
];

/** Returns the peak resident memory of a process in MB, if the system reports it. */
async function peakMb(pid: number): Promise<number> {
	const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
	return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1] ?? Number.NaN) / 1024;
}

/**
 * Returns the CPU seconds used by a process, if the system reports them; more reliable than wall time on a busy
 * machine.
 */
async function processorSeconds(pid: number): Promise<number> {
	const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function timed<T>(work: () => Promise<T>): Promise<[millis: number, result: T]> {
	const start = performance.now();
	const result = await work();
	return [performance.now() - start, result];
}

export const bench: Bench = {
	title: `rollout index and search over ${rollouts.toLocaleString('en')} ${verl ? 'verl ' : ''}rollouts`,
	async run({ rounds }) {
		const folder = await mkdtemp(join(process.env.BENCH_FOLDER ?? tmpdir(), 'lab-bench-'));
		const run = join(folder, 'run');
		const client = new IndexClient({ program, storage: join(folder, 'index'), log: console.error });
		const measurements: Measurement[] = [];
		const measured = (name: string, unit: string, samples: number[]) =>
			measurements.push({ name: `${verl ? 'verl' : 'lab'}: ${name}`, unit, samples });
		try {
			const [made, bytes] = await timed(() => makeRolloutFolder(run, { rollouts, groups, verl }));
			console.log(`${(bytes / 1e9).toFixed(2)} GB written in ${(made / 1000).toFixed(0)} s`);
			const steps = Math.ceil(rollouts / (groups * 8));
			const random = Random.of(1, 'bench');

			const firsts: number[] = [];
			for (let i = 0; i < rounds; i++) {
				const [millis] = await timed(async () => {
					const content = await openRun(run);
					await content.record();
					const [first] = await content.steps();
					const step = await content.open(first ?? 0);
					const seen = new Set<number>();
					for await (const { place } of step.rollouts()) {
						if (place !== null && seen.add(place.group).size > 1) break;
					}
					await step.close();
				});
				firsts.push(millis);
			}
			measured('run and first group without an index', 'ms', firsts);
			const unindexed: number[] = [];
			for (let i = 0; i < 5; i++) {
				const asked = { run, split: 'train', step: 1 + random.int(steps), group: random.int(groups) } as const;
				unindexed.push((await timed(() => client.request('places', asked)))[0]);
			}
			measured('locations of a group without an index', 'ms', unindexed);

			client.setRuns([run]);
			const before = await processorSeconds(client.pid ?? 0);
			const [indexed, progress] = await timed(() => client.request('index', { run }));
			if (progress.rollouts !== rollouts) throw new Error(`${progress.rollouts} rollouts were indexed.`);
			measured('indexing', 'MB/s', [bytes / 1000 / indexed]);
			const used = (await processorSeconds(client.pid ?? 0)) - before;
			measured('indexing, per CPU second', 'MB/s', [bytes / 1e6 / used]);
			measured('index size on disk', 'MB', [(await client.request('status', {})).bytes / 1e6]);
			measured('checking an index for changes', 'ms', [(await timed(() => client.request('index', { run })))[0]]);

			const opened: number[] = [];
			for (let i = 0; i < 50; i++) {
				const asked = { run, split: 'train', step: 1 + random.int(steps), group: random.int(groups) } as const;
				const [millis] = await timed(async () => {
					const { places } = await client.request('places', asked);
					const step = await (await openRun(run)).open(asked.step);
					for (const place of places) await step.rollout(place);
					await step.close();
					if (places.length !== 8) throw new Error(`${places.length} places`);
				});
				opened.push(millis);
			}
			measured('opening a group by step and number', 'ms', opened);
			measured('opening the slowest of 50 groups', 'ms', [Math.max(...opened)]);

			for (const [name, query] of searches) {
				const samples: number[] = [];
				const used: number[] = [];
				for (let i = 0; i <= rounds; i++) {
					const before = await processorSeconds(client.pid ?? 0);
					const asked = { search: name, query, filter: {}, limit: 10_000 };
					const [millis, outcome] = await timed(() => client.request('search', asked));
					if (!outcome.complete || (!verl && outcome.bytes !== bytes)) throw new Error(JSON.stringify(outcome));
					// The first iteration warms the file cache.
					if (i > 0) samples.push(millis / 1000);
					if (i > 0) used.push((await processorSeconds(client.pid ?? 0)) - before);
				}
				measured(`search: ${name}`, 's', samples);
				measured(`search: ${name}, CPU time`, 's', used);
			}
			let first = 0;
			const start = performance.now();
			const subscription = client.onHits(({ hits }) => {
				if (hits.length > 0 && first === 0) first = performance.now() - start;
			});
			const query = { pattern: '[0-9]{5}', regex: true, caseSensitive: true };
			const [all, outcome] = await timed(() =>
				client.request('search', {
					search: 'all',
					query,
					filter: { steps: { to: Math.ceil(steps / 10) } },
					limit: 1e9,
				}),
			);
			subscription.dispose();
			measured('search without a literal: first hits', 'ms', [first]);
			if (!verl) measured('search without a literal', 'MB/s', [outcome.bytes / 1000 / all]);
			else measured('search without a literal, a tenth of the steps', 's', [all / 1000]);

			const sql = [
				['mean by step', 'select step, avg(reward), avg(characters) from rollouts group by step'],
				['sorted by a component', "select * from rollouts order by rewards['length'] desc limit 100"],
				['groups by spread', 'from groups order by reward_std desc nulls last limit 100'],
			] as const;
			for (const [name, statement] of sql) {
				const samples: number[] = [];
				for (let i = 0; i < rounds; i++) {
					samples.push((await timed(() => client.request('sql', { sql: statement, limit: 1000 })))[0]);
				}
				measured(`SQL: ${name}`, 'ms', samples);
			}
			measured('peak memory of the worker', 'MB', [await peakMb(client.pid ?? 0)]);
			measured('memory of the client process', 'MB', [process.memoryUsage.rss() / 2 ** 20]);
			return measurements;
		} finally {
			client.dispose();
			await rm(folder, { recursive: true, force: true, maxRetries: 5 });
		}
	},
};
