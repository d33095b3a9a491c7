import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatBytes } from '../../src/base/format.ts';
import { checkDevices } from '../../src/engines/embedded/createLearner.ts';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { buildFaultyDriver } from '../support/faultyDriver.ts';
import { type Bench, type BenchOptions, type Measurement, NotHere } from './measurement.ts';

interface Sizes {
	/** Long rows need more than the free memory; short ones do not. */
	readonly model: Readonly<Record<'layers' | 'width' | 'heads' | 'context', number>>;
	/** Bytes of free memory. */
	readonly free: number;
}

/** The attention scores of one full-length row take 4.3 GB per layer. */
const full: Sizes = { model: { layers: 2, width: 64, heads: 16, context: 8192 }, free: 6 * 2 ** 30 };
const tiny: Sizes = { model: { layers: 2, width: 32, heads: 4, context: 512 }, free: 50e6 };

const limitMs = Number(process.env.GPU_BENCH_SECONDS ?? 50) * 1000;

/** Steps of each stage. */
const steps = 4;

function recipeOf(corpus: string, device: string, { model }: Sizes): object {
	const every = 100_000;
	return {
		...{ format: 1, name: 'full', seed: 1, device, whenBusy: 'share', model, dataset: { task: 'addition', digits: 1 } },
		...{ evaluate: { every, problems: 4 }, checkpoint: { every: 2, keep: 10 } },
		stages: [
			{ type: 'sft', steps, learning_rate: 1e-4, batch_size: 8 },
			{ type: 'pretrain', steps, learning_rate: 1e-4, batch_size: 2, workedShare: 0, corpus: { path: corpus } },
		],
	};
}

const engine = fileURLToPath(new URL('../../src/engines/embedded/main.ts', import.meta.url));

/** Runs the engine until it ends. Returns its status, or null if it was killed, and the error that it printed. */
async function runUntilEnd(args: readonly string[], environment: Readonly<Record<string, string>>) {
	const child = spawn(process.execPath, [engine, ...args], {
		stdio: ['ignore', 'ignore', 'pipe'],
		env: { ...process.env, ...environment },
		...{ signal: AbortSignal.timeout(limitMs), killSignal: 'SIGKILL' },
	});
	let error = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		error += text;
	});
	child.on('error', () => undefined);
	const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
	return { code, error: error.trim() || 'no error' };
}

/** Fills the memory of the GPU. Resolves when it is full. */
async function fill(provider: string, free: number): Promise<{ readonly child: ChildProcess; readonly free: number }> {
	const child = fork(fileURLToPath(new URL('gpuBallast.ts', import.meta.url)), [provider, String(free)]);
	const left = await new Promise<number>((resolve, reject) => {
		child.once('message', (bytes) => resolve(Number(bytes)));
		child.once('exit', (code) => reject(new Error(`the memory could not be filled (exit status ${code})`)));
	});
	return { child, free: left };
}

/** Runs out of memory in the second stage, then resumes with all of the memory. */
async function measure(
	folder: string,
	provider: string,
	sizes: Sizes,
	limited: Readonly<Record<string, string>> | null,
) {
	const corpus = join(folder, 'digits.txt');
	const line = '0123456789'.repeat(sizes.model.context).slice(0, sizes.model.context - 2);
	await writeFile(corpus, Array.from({ length: 40 }, (_, i) => `${i % 10}${line.slice(1)}`).join('\n'));
	const path = join(folder, `full-${provider}.recipe.json`);
	await writeFile(path, JSON.stringify(recipeOf(corpus, provider, sizes)));
	const { folder: run } = await prepareRun(path);
	const ballast = limited === null ? await fill(provider, sizes.free) : null;
	try {
		console.log(`  ${provider}: ${formatBytes(ballast?.free ?? sizes.free)} of free memory`);
		const { code, error } = await runUntilEnd(['--run', run], limited ?? {});
		console.log(`  ${provider}: exit status ${code}: ${error}`);
	} finally {
		ballast?.child.removeAllListeners('exit');
		ballast?.child.kill('SIGKILL');
	}
	const record = await readRecord(run);
	const alerts = (await readEvents(run)).filter(({ type }) => type === 'alert').map(({ message }) => message);
	const kept = (await listCheckpoints(run)).map(({ step }) => step);
	console.log(`  ${provider}: ${record.status} at step ${record.step}, checkpoints ${kept.join(', ')}`);
	for (const alert of alerts) console.log(`  ${provider}: alert: ${alert}`);
	const again = await runUntilEnd(['--run', run, '--resume'], {});
	const rows = (await readMetrics(run)).length;
	console.log(
		`  ${provider}: resumed with all memory: exit status ${again.code} (${again.error}), ${rows} of ${2 * steps} steps`,
	);
	return { checkpoints: kept.length, rows };
}

async function run({ tiny: smallest }: BenchOptions): Promise<Measurement[]> {
	const sizes = smallest ? tiny : full;
	const wanted = process.env.GPU_BENCH_PROGRAMS?.split(',');
	const found = await checkDevices();
	for (const { provider, error } of found) console.log(`  ${provider}: ${error ?? 'works'}`);
	const usable = found.filter(({ provider, error }) => error === null && (wanted?.includes(provider) ?? true));
	if (usable.length === 0) throw new NotHere('No GPU provider of the embedded engine works here.');
	const folder = await mkdtemp(join(tmpdir(), 'rl-bench-'));
	const results: Measurement[] = [];
	try {
		const driver = smallest ? await buildFaultyDriver(folder) : null;
		if (smallest && driver === null) throw new NotHere('Limiting the memory of a software GPU requires a C compiler.');
		const limited = driver === null ? null : { ...driver, FAULTY_DRIVER_BYTES: String(sizes.free) };
		for (const { provider } of usable) {
			try {
				const { checkpoints, rows } = await measure(folder, provider, sizes, limited);
				results.push(
					{ name: `gpuFull/${provider}/checkpoints`, unit: 'kept', samples: [checkpoints] },
					{ name: `gpuFull/${provider}/steps`, unit: 'after resuming', samples: [rows] },
				);
			} catch (error) {
				console.log(`  ${provider}: failed: ${error instanceof Error ? error.message : error}`);
			}
		}
		return results;
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title: 'a run of the embedded engine that runs out of GPU memory in its second stage, and resumes with more memory',
	run,
};
