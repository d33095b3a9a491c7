import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import { treeSeconds } from './processTimes.ts';

/** Program for each `engine` value. */
const programs = {
	embedded: fileURLToPath(new URL('../../src/engines/embedded/main.ts', import.meta.url)),
	pytorch: fileURLToPath(new URL('../../src/engines/driver/main.ts', import.meta.url)),
};

export interface EngineRun {
	readonly folder: string;
	/** Parsed lines of metrics.jsonl. */
	readonly metrics: readonly Readonly<Record<string, unknown>>[];
	/** Largest observed resident set size in bytes, or NaN if the system does not report it. */
	readonly memory: number;
	/**
	 * Total CPU time of all processes in seconds, by number of metrics lines written. Empty if the system does not report
	 * it.
	 */
	readonly processor: readonly { readonly lines: number; readonly seconds: number }[];
}

export interface EngineRunOptions {
	readonly engine?: keyof typeof programs;
	/** Overrides the number of threads that a recipe gets on this machine. */
	readonly workers?: number;
	readonly environment?: Readonly<Record<string, string>>;
	readonly onStart?: (pid: number) => void;
	/** Kills the engine. */
	readonly signal?: AbortSignal;
}

/** Long interval, because polling shares the machine with the program being measured. */
const pollMs = 5000;

/** Runs a recipe from the sources in a separate engine process until it exits. */
export async function runEngine(
	folder: string,
	name: string,
	recipe: object,
	{ engine = 'embedded', workers, environment = {}, onStart, signal }: EngineRunOptions = {},
): Promise<EngineRun> {
	const path = join(folder, `${name}.recipe.json`);
	await writeFile(path, JSON.stringify({ format: 1, name, engine, ...recipe }));
	const { folder: run, recipe: resolved } = await prepareRun(path);
	if (workers !== undefined) await writeFile(join(run, 'recipe.json'), JSON.stringify({ ...resolved, workers }));
	const metrics = join(run, 'metrics.jsonl');
	const child = spawn(process.execPath, [programs[engine], '--run', run], {
		stdio: ['ignore', 'ignore', 'pipe'],
		env: { ...process.env, ...environment },
		...(signal === undefined ? {} : { signal, killSignal: 'SIGKILL' as const }),
	});
	if (child.pid !== undefined) onStart?.(child.pid);
	let complaint = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		complaint += text;
	});
	let memory = Number.NaN;
	const processor: { lines: number; seconds: number }[] = [];
	const timer = setInterval(async () => {
		const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
		const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
		if (kilobytes !== undefined) memory = Number(kilobytes) * 1024;
		const seconds = await treeSeconds(child.pid as number);
		const lines = (await readFile(metrics, 'utf8').catch(() => '')).split('\n').length - 1;
		if (seconds !== null && lines > (processor.at(-1)?.lines ?? 0)) processor.push({ lines, seconds });
	}, pollMs);
	const code = await new Promise((resolve, reject) => {
		// An aborted engine still has to end.
		child.on('error', (error) => error.name === 'AbortError' || reject(error));
		child.on('close', resolve);
	}).finally(() => clearInterval(timer));
	if (signal?.aborted) {
		const rows = (await readFile(metrics, 'utf8').catch(() => '')).split('\n').length - 1;
		throw new Error(`The engine was killed at the time limit, after ${rows} updates.`);
	}
	if (code !== 0) throw new Error(`The engine ended with status ${code} in ${run}: ${complaint}`);
	const lines = (await readFile(metrics, 'utf8')).trim().split('\n');
	return { folder: run, metrics: lines.map((line) => JSON.parse(line)), memory, processor };
}
