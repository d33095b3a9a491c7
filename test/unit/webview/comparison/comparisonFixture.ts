import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../../../src/base/random.ts';
import { estimateAccuracy } from '../../../../src/core/evaluation/meanInterval.ts';
import { formatLine } from '../../../../src/files/jsonLines.ts';
import type { RunRecord } from '../../../../src/protocol/runRecord.ts';
import { runFiles, stepName } from '../../../../src/runs/runFiles.ts';
import { runRecord, writeRecord, writeRollouts } from '../rollouts/rolloutsFixture.ts';

export interface ComparedRunOptions {
	readonly name: string;
	readonly steps?: number;
	/** Reward level that the run reaches, 0 to 1. */
	readonly level?: number;
	readonly recipe?: unknown;
	readonly problems?: number;
	readonly samples?: number;
	readonly record?: Partial<RunRecord>;
	/** Prefix of every prompt; different prefixes mean different problems. */
	readonly task?: string;
}

const start = 1_763_640_000;

/** Creates a run in our format, with metrics, a recipe, evaluations and rollouts derived from its name. */
export async function writeComparedRun(folder: string, options: ComparedRunOptions): Promise<string> {
	const { name, steps = 120, level = 0.8, problems = 60, samples = 1, task = 'What is' } = options;
	const run = join(folder, name);
	const random = Random.of('compared run', name);
	const noise = (): number => random.uint32() / 2 ** 32 - 0.5;
	await writeRecord(run, runRecord({ id: name, name, step: steps, totalSteps: steps, ...options.record }));
	if (options.recipe !== undefined) {
		await writeFile(join(run, runFiles.recipe), JSON.stringify({ format: 1, ...(options.recipe as object) }));
	}
	await writeFile(join(run, runFiles.metrics), metricLines(1, steps, level, noise));
	for (const step of [steps / 2, steps]) {
		const right = Array.from({ length: problems }, (_, problem) =>
			Array.from({ length: samples }, () => noise() + 0.5 < level * (step / steps) * (problem % 7 === 0 ? 0.4 : 1.05)),
		);
		const where = join(run, runFiles.evaluations, stepName(step));
		await mkdir(where, { recursive: true });
		const { accuracy, low, high } = estimateAccuracy(right);
		const summary = { name: 'held_out', step, problems, samples, temperature: 0.6, accuracy, low, high };
		await writeFile(join(where, 'held_out.json'), JSON.stringify(summary));
		const lines = right.flatMap((list, problem) =>
			list.map((correct, sample) =>
				formatLine({
					...{ problem, sample, prompt: `${task} ${problem} + ${problem}?`, completion: String(2 * problem) },
					...{ correct, truncated: false },
				}),
			),
		);
		await writeFile(join(where, 'held_out.jsonl'), lines.join(''));
	}
	for (const step of [1, steps]) {
		const lines = Array.from({ length: 24 }, (_, i) => {
			const group = Math.floor(i / 4);
			const correct = noise() + 0.5 < level;
			return {
				...{ step, stage: 'grpo', group, index: i % 4 },
				prompt: `${task} ${group * 3} times ${step === 1 ? group : 7}?`,
				completion: `<think>At step ${step} ${name} thinks about it.\nLet me check.</think><answer>${group * 3 * 7 + (correct ? 0 : 1)}</answer>`,
				rewards: { accuracy: correct ? 1 : 0 },
				...{ reward: correct ? 1 : 0, advantage: 0, truncated: i === 5 },
			};
		});
		await writeRollouts(run, step, lines);
	}
	return run;
}

export function metricLines(from: number, to: number, level: number, noise: () => number): string {
	let text = '';
	for (let step = from; step <= to; step++) {
		const share = step / 120;
		text += formatLine({
			...{ step, time: start + step * (8 + level), stage: 'grpo' },
			...{ reward: level * (1 - Math.exp(-4 * share)) + 0.15 * noise(), loss: 0.02 * noise(), kl: 0.001 * step },
			...{ entropy: 1.2 - share * level + 0.05 * noise(), 'completions/mean_length': 90 + 60 * share + 8 * noise() },
			...{ num_tokens: step * 4096, grad_norm: 0.4 + 0.1 * noise() },
		});
	}
	return text;
}

export const grpoRecipe = (changes: object = {}) => ({
	model: { size: 'small', layers: 4 },
	stages: [
		{
			type: 'grpo',
			learning_rate: 1e-4,
			beta: 0,
			num_generations: 8,
			loss_type: 'dapo',
			betas: [0.9, 0.99],
			...changes,
		},
	],
});
