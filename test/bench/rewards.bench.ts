import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as esbuild from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import type { RewardContext } from '../../src/protocol/rewardHost.ts';
import type { ScoreRow } from '../../src/protocol/scorer.ts';
import { RewardHosts } from '../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../src/rewards/rewardPrograms.ts';
import type { Bench, BenchOptions, Measurement } from './measurement.ts';

const context: RewardContext = {
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	task: null,
	folder: '',
};

/** Returns rows with completions of about 150 characters, a third of them with an invalid format. */
function rowsOf(n: number): ScoreRow[] {
	return Array.from({ length: n }, (_, i) => {
		const thinking = `${i} plus ${2 * i}: first the units, then the tens, and what is carried over; that makes ${3 * i}.`;
		const end = i % 3 === 0 ? '' : '</answer>';
		return {
			prompt: `What is ${i} + ${2 * i}?`,
			completion: `<think>${thinking}</think>\n<answer>${3 * i}${end}`,
			answer: String(3 * i),
			row: { answer: String(3 * i), level: i % 5 },
			truncated: false,
		};
	});
}

/** Format check equivalent to the built-in reward, in both reward file languages. */
const python = `import re

FORM = re.compile(r"\\s*<think>((?:(?!</?think>|</?answer>).)*)</think>\\s*<answer>((?:(?!</?think>|</?answer>).)+)</answer>\\s*", re.DOTALL)


def form(prompts, completions, **kwargs):
    return [1.0 if FORM.fullmatch(completion) else 0.0 for completion in completions]
`;
const typescript = `import type { Reward } from 'reasoning-lab';
export const form: Reward = ({ trace }) => (trace.faults.length === 0 ? 1 : 0);
`;

/** Reward failures: measurement name -> body of a Python function. */
const harm: Readonly<Record<string, string>> = {
	'an infinite loop': 'while True: pass',
	'growing memory': 'x = []\n    while True: x.append(bytearray(1 << 20))',
	'a fork bomb':
		'for i in range(150):\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n        time.sleep(0.002)\n    time.sleep(60)',
	'printing 1 GB': 'for i in range(10000): os.write(1, b"x" * 99999 + b"\\n")\n    return [1.0] * len(completions)',
	'exiting at once': 'os._exit(1)',
	raising: 'raise ValueError("always")',
};

async function ratePerSecond(n: number, work: () => Promise<unknown>): Promise<number> {
	const start = performance.now();
	await work();
	return (n / (performance.now() - start)) * 1000;
}

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
	const programs = await findRewardPrograms();
	const measurements: Measurement[] = [];
	const measure = (name: string, unit: string, samples: number[]) => measurements.push({ name, unit, samples });
	try {
		const files = { node: join(folder, 'form.reward.ts'), python: join(folder, 'form.reward.py') };
		const texts = { node: typescript, python };
		await writeFile(files.node, typescript);
		await writeFile(files.python, python);
		const sources = {
			'built-in format, Node host': { builtIns: [{ use: 'format', name: 'form' }], context },
			'format in TypeScript, Node host': { file: files.node, context },
			'format in Python, Python host': { file: files.python, context },
		};

		for (const [name, source] of Object.entries(sources)) {
			const cold: number[] = [];
			for (let i = 0; i < 3 * rounds; i++) {
				const hosts = new RewardHosts(programs, { folder: dist });
				const runner = hosts.open(source);
				const start = performance.now();
				await runner.describe();
				// Skip the first start because it also copies the program.
				if (i > 0) cold.push(performance.now() - start);
				hosts.dispose();
				await hosts.closed();
			}
			measure(`cold start to loaded: ${name}`, 'ms', cold);

			const hosts = new RewardHosts(programs, { folder: dist });
			const runner = hosts.open(source);
			for (const [size, batches] of [
				[512, 20],
				[20_000, 1],
			] as const) {
				const rows = rowsOf(size);
				const score = async () => {
					for (let i = 0; i < batches; i++) await runner.score('form', rows);
				};
				await score();
				const rates: number[] = [];
				for (let i = 0; i < 3 * rounds; i++) rates.push(await ratePerSecond(size * batches, score));
				measure(`${name}, batches of ${size}`, 'rows/s', rates);
			}
			hosts.dispose();
			await hosts.closed();
		}

		const rows = rowsOf(200);
		for (const language of ['node', 'python'] as const) {
			const hosts = new RewardHosts(programs, { folder: dist, spares: true, reloadOnChange: true, coverage: true });
			const runner = hosts.open({ file: files[language], context });
			await runner.score('form', rows, { coverage: true });
			const times: number[] = [];
			for (let i = 0; i < 10 * rounds; i++) {
				// Wait until the spare process is ready, as it would be after a user has typed.
				await new Promise((resolve) => setTimeout(resolve, 700));
				await writeFile(files[language], `${texts[language]}${'\n'.repeat(1 + (i % 7))}`);
				const start = performance.now();
				await runner.score('form', rows, { coverage: true });
				times.push(performance.now() - start);
			}
			measure(`changed file to 200 scored rows with coverage, ${language}, p95`, 'ms', [percentile(times, 0.95)]);
			measure(`changed file to 200 scored rows with coverage, ${language}, median`, 'ms', times);
			hosts.dispose();
			await hosts.closed();
		}

		for (const [name, body] of Object.entries(harm)) {
			const file = join(folder, 'harm.reward.py');
			await writeFile(file, `import os, time\ndef harm(completions, **kwargs):\n    ${body}\n`);
			const limits = { rowMs: 1000, batchMs: 5000, memoryMb: 512, processes: 40 };
			const hosts = new RewardHosts(programs, { folder: dist, limits });
			const runner = hosts.open({ file, context });
			await runner.describe();
			const delay = monitorEventLoopDelay({ resolution: 5 });
			delay.enable();
			await runner.score('harm', rowsOf(8)).catch(() => undefined);
			delay.disable();
			measure(`event loop delay during ${name}, p95`, 'ms', [Math.max(0, delay.percentile(95) / 1e6 - 5)]);
			hosts.dispose();
			await hosts.closed();
		}
		return measurements;
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title: 'reward hosts: rows per second, starts, saves, and what harmful rewards cost the editor',
	run,
};
