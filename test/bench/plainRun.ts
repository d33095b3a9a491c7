import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { keptMemory } from '../../src/engines/driver/trainerEnvironment.ts';

const folder = fileURLToPath(new URL('./trl/', import.meta.url));
const trainer = fileURLToPath(new URL('../../src/engines/trainer/', import.meta.url));

const stepSchema = v.looseObject({
	step: v.number(),
	/** Time when the step ended, in seconds. */
	time: v.number(),
	/** CPU time of the process so far, in seconds. */
	cpu: v.number(),
	phases: v.record(v.string(), v.number()),
	frac_reward_zero_std: v.number(),
	'completions/mean_length': v.number(),
	/** Peak tensor memory on a GPU so far, in bytes. */
	memory_peak: v.optional(v.number()),
});

export interface PlainRun {
	readonly steps: readonly v.InferOutput<typeof stepSchema>[];
}

export interface PlainOptions {
	readonly python: string;
	/** A model folder or an embedded engine checkpoint. */
	readonly model: string;
	readonly problems: readonly { readonly prompt: string; readonly answer: unknown }[];
	/** A file in trl/ and its functions, such as `rewards.py:accuracy,format`. */
	readonly rewards: string;
	/** Arguments for GRPOConfig. */
	readonly config: Readonly<Record<string, unknown>>;
	/** Number of threads, or 0 for torch's default. */
	readonly threads: number;
	readonly attention: string;
	readonly onStart?: (pid: number) => void;
}

let runs = 0;

/** Trains with the script trl/plain.py in a separate process. If it fails, throws an error with its stderr output. */
export async function runPlain(scratch: string, options: PlainOptions): Promise<PlainRun> {
	const problems = join(scratch, `problems-${++runs}.jsonl`);
	await writeFile(problems, options.problems.map((problem) => `${JSON.stringify(problem)}\n`).join(''));
	const args = [
		join(folder, 'plain.py'),
		...['--model', options.model],
		...['--problems', problems],
		...['--rewards', join(folder, options.rewards)],
		...['--config', JSON.stringify(options.config)],
		...['--threads', String(options.threads)],
		...['--attention', options.attention],
	];
	const child = spawn(options.python, args, {
		cwd: scratch,
		stdio: ['ignore', 'pipe', 'pipe'],
		// Use the engine's memory settings, because the comparison is not about memory allocation.
		env: { ...keptMemory, ...process.env, PYTHONPATH: trainer, PYTHONDONTWRITEBYTECODE: '1', PYTHONSAFEPATH: '1' },
	});
	if (child.pid !== undefined) options.onStart?.(child.pid);
	let output = '';
	let complaint = '';
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		output += text;
	});
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		complaint += text;
	});
	const code = await new Promise((resolve, reject) => {
		child.on('error', reject);
		child.on('close', resolve);
	});
	if (code !== 0) throw new Error(`trl/plain.py ended with status ${code}:\n${complaint}`);
	const lines = output.split('\n').filter((line) => line.startsWith('{"step"'));
	return { steps: lines.map((line) => v.parse(stepSchema, JSON.parse(line))) };
}
