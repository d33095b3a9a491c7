/**
 * node test/scripts/start.mjs test/scripts/gpuSession.ts [PART...]: runs what only a machine with a GPU can check, one
 * part after another, each with a time limit. Without names, all parts run, in at most ten minutes. CUDA needs
 * `reasoning-lab setup-gpu` first. Prints each part's output, and a table of the times at the end.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from './paths.ts';

interface Part {
	readonly name: string;
	/** Script and arguments, as in package.json. */
	readonly script: readonly string[];
	readonly environment: Readonly<Record<string, string>>;
	/** Seconds after which the part is killed, and seconds it took on an H100. */
	readonly limit: number;
	readonly expected: number;
}

const bench = (name: string) => ['test/bench/run.ts', name, '--rounds', '1'];
const programs = ['test/scripts/test.ts', 'test/gpu/programs.test.ts'];

const parts: readonly Part[] = [
	{ name: 'programs-cuda', script: programs, environment: { TEST_GPU_PROVIDER: 'cuda' }, limit: 90, expected: 30 },
	{
		// For the table in docs/memory.md.
		name: 'large-cuda',
		script: bench('gpuLarge'),
		environment: { GPU_BENCH_PROGRAMS: 'cuda', GPU_BENCH_SECONDS: '80' },
		limit: 90,
		expected: 64,
	},
	{
		name: 'full-cuda',
		script: bench('gpuFull'),
		environment: { GPU_BENCH_PROGRAMS: 'cuda', GPU_BENCH_SECONDS: '35' },
		limit: 85,
		expected: 16,
	},
	{
		name: 'steps-cuda',
		script: bench('gpu'),
		environment: { GPU_BENCH_PROGRAMS: 'cuda', GPU_BENCH_CELLS: '6M/64/0.02,25M/64/0.02', GPU_BENCH_SECONDS: '30' },
		limit: 70,
		expected: 48,
	},
	{
		name: 'full-webgpu',
		script: bench('gpuFull'),
		environment: { GPU_BENCH_PROGRAMS: 'webgpu', GPU_BENCH_SECONDS: '50' },
		limit: 110,
		expected: 70,
	},
	{
		name: 'large-webgpu',
		script: bench('gpuLarge'),
		environment: { GPU_BENCH_PROGRAMS: 'webgpu', GPU_BENCH_SECONDS: '90' },
		limit: 100,
		expected: 64,
	},
	{
		name: 'steps-webgpu',
		script: bench('gpu'),
		environment: { GPU_BENCH_PROGRAMS: 'webgpu', GPU_BENCH_CELLS: '6M/64/0.02', GPU_BENCH_SECONDS: '50' },
		limit: 60,
		expected: 27,
	},
];

/** Runs a part until it ends or its limit has passed. Returns the exit status, or null if it was killed. */
async function run({ script, environment, limit }: Part): Promise<number | null> {
	const child = spawn(process.execPath, [join(root, 'test/scripts/start.mjs'), ...script], {
		cwd: root,
		stdio: ['ignore', 'inherit', 'inherit'],
		env: { ...process.env, TEST_GPU_HARDWARE: '1', ...environment },
		// In a separate process group, so that its engines end with it.
		detached: true,
	});
	const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), limit * 1000);
	const code = await new Promise<number | null>((resolve) => {
		child.once('error', () => resolve(1));
		child.once('exit', (status) => resolve(status));
	});
	clearTimeout(timer);
	return code;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0) {
	console.error(`Unknown part ${unknown.join(', ')}. The parts are ${parts.map(({ name }) => name).join(', ')}.`);
	process.exit(2);
}
const lines: string[] = [];
for (const part of parts) {
	if (wanted.length > 0 && !wanted.includes(part.name)) continue;
	console.log(`== ${part.name}, at most ${part.limit} s`);
	const start = performance.now();
	const code = await run(part);
	const seconds = ((performance.now() - start) / 1000).toFixed(0);
	const end = code === null ? 'killed' : `exit status ${code}`;
	lines.push(`${part.name.padEnd(16)}${seconds.padStart(4)} s (expected: ${part.expected})  ${end}`);
}
console.log(lines.join('\n'));
