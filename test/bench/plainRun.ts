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
	/** When it was over, in seconds. */
	time: v.number(),
	/** Processor time of the process so far, in seconds. */
	cpu: v.number(),
	phases: v.record(v.string(), v.number()),
	frac_reward_zero_std: v.number(),
	'completions/mean_length': v.number(),
	/** Bytes in tensors on a GPU, the most so far. */
	memory_peak: v.optional(v.number()),
});

export interface PlainRun {
	readonly steps: readonly v.InferOutput<typeof stepSchema>[];
}

export interface PlainOptions {
	readonly python: string;
	/** A model folder, or a checkpoint of the embedded engine. */
	readonly model: string;
	readonly problems: readonly { readonly prompt: string; readonly answer: unknown }[];
	/** A file in trl/ and its functions: `rewards.py:accuracy,format`. */
	readonly rewards: string;
	/** Arguments of GRPOConfig. */
	readonly config: Readonly<Record<string, unknown>>;
	/** 0: as many as torch chooses. */
	readonly threads: number;
	readonly attention: string;
	readonly onStart?: (pid: number) => void;
}

let runs = 0;

/** Trains with the script trl/plain.py in a process of its own. Throws with what it complained of if it fails. */
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
		// The engine's own: what is compared is not how memory is kept.
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
