import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareRun } from '../../src/runs/prepareRun.ts';

const engine = fileURLToPath(new URL('../../src/engine/main.ts', import.meta.url));

export interface EngineRun {
	readonly folder: string;
	/** metrics.jsonl, a line each. */
	readonly metrics: readonly Readonly<Record<string, unknown>>[];
	/** Largest resident set seen, in bytes; NaN where the system does not tell. */
	readonly memory: number;
}

/** Runs a recipe in an engine process of its own, from the sources, to its end. */
export async function runEngine(folder: string, name: string, recipe: object): Promise<EngineRun> {
	const path = join(folder, `${name}.recipe.json`);
	await writeFile(path, JSON.stringify({ format: 1, name, ...recipe }));
	const { folder: run } = await prepareRun(path);
	const child = spawn(process.execPath, [engine, '--run', run], { stdio: ['ignore', 'ignore', 'pipe'] });
	let complaint = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		complaint += text;
	});
	let memory = Number.NaN;
	const timer = setInterval(async () => {
		const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
		const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
		if (kilobytes !== undefined) memory = Number(kilobytes) * 1024;
	}, 500);
	const code = await new Promise((resolve, reject) => {
		child.on('error', reject);
		child.on('close', resolve);
	});
	clearInterval(timer);
	if (code !== 0) throw new Error(`The engine ended with status ${code} in ${run}: ${complaint}`);
	const lines = (await readFile(join(run, 'metrics.jsonl'), 'utf8')).trim().split('\n');
	return { folder: run, metrics: lines.map((line) => JSON.parse(line)), memory };
}
