import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../../src/base/random.ts';
import { createTask } from '../../../src/core/dataset/createTask.ts';
import { taskSource } from '../../../src/core/dataset/taskSource.ts';
import type { Verdict } from '../../../src/core/diagnosis/verdict.ts';
import { findLanguageMix } from '../../../src/core/trace/languageMix.ts';
import type { RecipeEdit } from '../../../src/protocol/alert.ts';
import type { MetricsLine } from '../../../src/protocol/metricsLine.ts';
import { diagnoseRun } from '../../../src/runs/diagnoseRun.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { listCheckpoints, readMetrics } from '../../../src/runs/runReader.ts';
import { lab } from '../../acceptance/commandLine.ts';
import { applyRecipeEdits } from './applyRecipeEdits.ts';
import { type Kind, type Measure, rewardFiles } from './kinds.ts';

const grpo = {
	type: 'grpo',
	steps: 80,
	num_generations: 8,
	prompts_per_step: 12,
	learning_rate: 3e-4,
	beta: 0.02,
};
/**
 * Settings for all runs. Sampling depends only on the seed, so one worker thread gives the same results as any number.
 */
const common = {
	format: 1,
	workers: 1,
	whenBusy: 'share',
	template: 'r1',
	rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
	evaluate: { every: 20, problems: 400 },
	checkpoint: { every: 1_000_000, keep: 1 },
	log: { tokens: false },
};
const model = { layers: 2, width: 64, heads: 2, context: 96 };

export interface Finished {
	readonly folder: string;
	readonly metrics: readonly MetricsLine[];
}

/** Trains in one folder and reuses what the folder already contains, so that an interrupted campaign continues. */
export class Campaign {
	readonly #folder: string;
	readonly #seed: number;
	readonly #going = new Map<string, Promise<string>>();

	constructor(folder: string, seed: number) {
		this.#folder = join(folder, `seed-${seed}`);
		this.#seed = seed;
	}

	async prepare(): Promise<void> {
		await mkdir(join(this.#folder, 'r'), { recursive: true, mode: 0o700 });
		for (const [name, text] of Object.entries(rewardFiles)) await writeFile(join(this.#folder, name), text);
		await writeRows(this.#folder, this.#seed);
	}

	/** Trains from the failure type's starting point with the given recipe edits. */
	async train(start: Kind['start'], edits: readonly RecipeEdit[]): Promise<Finished> {
		const path = await this.#start(start);
		const recipe = applyRecipeEdits(
			{ ...common, seed: this.#seed, model: { path }, ...addition, stages: [grpo] },
			edits,
		);
		const folder = await this.#run(recipe);
		return { folder, metrics: await readMetrics(folder) };
	}

	/** Returns the checkpoint that runs start from. */
	#start(start: Kind['start']): Promise<string> {
		const sft = (data: boolean, until: number, steps: number) => ({
			type: 'sft',
			steps,
			...(data ? { data: { path: 'mixture.jsonl' } } : {}),
			until: { heldOutAccuracy: until, every: 10, problems: 256 },
			learning_rate: 2e-3,
			batch_size: 32,
		});
		const cold = { ...common, seed: this.#seed, evaluate: { every: 100_000 } };
		const known = this.#going.get(`start ${start}`);
		if (known !== undefined) return known;
		const made = (async () => {
			switch (start) {
				case 'cold':
					return checkpointOf(await this.#run({ ...cold, ...addition, model, stages: [sft(true, 0.25, 1500)] }));
				case 'solved': {
					const path = await this.#start('cold');
					return checkpointOf(
						await this.#run({ ...cold, ...addition, model: { path }, stages: [sft(true, 0.9, 1500)] }),
					);
				}
				case 'bilingual': {
					const dataset = { task: 'bilingual', digits: 2, style: 'full' };
					return checkpointOf(await this.#run({ ...cold, dataset, model, stages: [sft(false, 0.25, 1500)] }));
				}
				case 'collapsed': {
					const from = await this.#start('cold');
					const into = join(this.#folder, 'collapsed');
					await rm(into, { recursive: true, force: true });
					await cp(from, into, { recursive: true });
					await sharpen(into, 6);
					return into;
				}
			}
		})();
		this.#going.set(`start ${start}`, made);
		return made;
	}

	/** Returns the folder of a finished run for this recipe. */
	#run(recipe: unknown): Promise<string> {
		const name = createHash('sha256')
			.update(JSON.stringify(recipe).replaceAll(this.#folder, ''))
			.digest('hex')
			.slice(0, 12);
		const going = this.#going.get(name) ?? this.#fresh(name, recipe);
		this.#going.set(name, going);
		return going;
	}

	async #fresh(name: string, recipe: unknown): Promise<string> {
		const file = join(this.#folder, `${name}.recipe.json`);
		const done = join(this.#folder, `${name}.done`);
		const before = await readFile(done, 'utf8').catch(() => null);
		if (before !== null) return join(this.#folder, 'runs', before);
		await writeFile(file, JSON.stringify({ ...(recipe as object), name }));
		const runs = async () =>
			(await readdir(join(this.#folder, 'runs')).catch(() => [])).filter((run) => run.startsWith(name));
		for (const broken of await runs()) await rm(join(this.#folder, 'runs', broken), { recursive: true });
		await lab(this.#folder, this.#folder, 'run', file);
		const [run] = await runs();
		if (run === undefined) throw new Error(`${file}: no run`);
		await writeFile(done, run);
		return join(this.#folder, 'runs', run);
	}
}

const addition = { dataset: { task: 'addition', digits: 2 } };

async function checkpointOf(run: string): Promise<string> {
	const newest = (await listCheckpoints(run)).at(-1);
	if (newest === undefined) throw new Error(`${run}: no checkpoint`);
	return newest.path;
}

/**
 * Scales the last norm's gain, which divides the temperature by the same factor and produces a policy without entropy.
 */
async function sharpen(folder: string, times: number): Promise<void> {
	const file = join(folder, 'model.safetensors');
	const bytes = await readFile(file);
	const size = Number(bytes.readBigUInt64LE(0));
	const header = JSON.parse(bytes.toString('utf8', 8, 8 + size)) as Record<string, { data_offsets: [number, number] }>;
	const [from, to] = header.norm?.data_offsets ?? [0, 0];
	for (let at = 8 + size + from; at < 8 + size + to; at += 4) bytes.writeFloatLE(times * bytes.readFloatLE(at), at);
	await writeFile(file, bytes);
	// Replace the hash in the checkpoint, which records the size and hash of each file.
	const statePath = join(folder, 'state.json');
	const state = await readFile(statePath, 'utf8');
	const { files } = JSON.parse(state) as { files: Record<string, { sha256: string }> };
	const sha256 = createHash('sha256').update(bytes).digest('hex');
	await writeFile(statePath, state.replace(files['model.safetensors']?.sha256 ?? '', sha256));
}

/**
 * Writes solutions with one to three digits for the cold start, rows with correct answers, and rows with 40% incorrect
 * answers.
 */
async function writeRows(folder: string, seed: number): Promise<void> {
	const random = Random.of(seed, 'diagnosis rows');
	const draw = (digits: number, count: number) => {
		const task = createTask({ task: 'addition', digits });
		return Array.from({ length: count }, () => task.sample(random));
	};
	const write = (name: string, rows: readonly unknown[]) =>
		writeFile(join(folder, name), `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
	const mixture = [...draw(1, 3000), ...draw(2, 10_000), ...draw(3, 7000)].map(({ prompt, solution, answer }) => ({
		prompt,
		completion: `<think>${solution}</think><answer>${answer}</answer>`,
	}));
	await write('mixture.jsonl', mixture);
	const heldOut = taskSource(createTask({ task: 'addition', digits: 2 })).heldOut(400);
	const held = new Set(heldOut.map(({ prompt }) => prompt));
	const rows = draw(2, 3000)
		.filter(({ prompt }) => !held.has(prompt))
		.map(({ prompt, answer }) => ({ prompt, answer: String(answer) }));
	await write(
		'held-out.jsonl',
		heldOut.map(({ prompt, answer }) => ({ prompt, answer: String(answer) })),
	);
	await write('right.jsonl', rows);
	await write(
		'wrong.jsonl',
		rows.map((row, i) => (i % 5 < 2 ? { ...row, answer: String(Number(row.answer) + 10) } : row)),
	);
}

/** Returns the alerts for a finished run according to the current code. */
export async function verdictFor({ folder }: Finished): Promise<Verdict> {
	return diagnoseRun(await openRun(folder));
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns a run's score on a metric, from 0 to 1: held-out accuracy at the end, or a mean over batches. */
export async function measured({ folder, metrics }: Finished, measure: Measure): Promise<number> {
	const batches = metrics.filter(
		({ values }) => typeof values.reward === 'number' || values.frac_reward_zero_std !== undefined,
	);
	const all = (name: string) => batches.map(({ values }) => values[name] ?? 0);
	switch (measure) {
		case 'held-out':
			return metrics.findLast(({ values }) => typeof values['eval/heldout/accuracy'] === 'number')?.values[
				'eval/heldout/accuracy'
			] as number;
		case 'informative':
			return 1 - mean(all('frac_reward_zero_std'));
		case 'scored':
			return 1 - mean(all('rewards/check/errors')) / (grpo.prompts_per_step * grpo.num_generations);
		case 'one-language': {
			const content = await openRun(folder);
			const shares: number[] = [];
			for (const step of (await content.steps()).slice(-5)) {
				const opened = await content.open(step);
				for await (const { rollout } of opened.rollouts()) {
					if (typeof rollout?.completion === 'string')
						shares.push(findLanguageMix(rollout.completion).foreign === 0 ? 1 : 0);
				}
				await opened.close();
			}
			return mean(shares);
		}
	}
}
