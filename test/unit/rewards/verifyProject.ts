import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import { rolloutPath } from '../../../src/runs/runFiles.ts';
import { writeRecord } from '../extension/fixtureRun.ts';

/** 120 addition problems with worked solutions. */
export const sums = Array.from({ length: 120 }, (_, i) => ({
	prompt: `${i}+${2 * i}=`,
	answer: 3 * i,
	solution: `${i}+${2 * i} is ${3 * i}`,
	level: i % 5,
}));

export const jsonl = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** A complete valid recipe. */
export const recipe = (changes: Record<string, unknown> = {}) => ({
	name: 'sums',
	workers: 1,
	dataset: { path: 'data/train.jsonl' },
	model: { layers: 1, width: 16, heads: 2 },
	rewards: [{ use: 'accuracy' }, { file: 'rewards/brevity.reward.ts', weight: 0.1 }],
	stages: [{ type: 'grpo', steps: 2, learning_rate: 0.001, scale_rewards: 'batch', max_completion_length: 16 }],
	...changes,
});

/** Project in a temporary folder that is removed after the test. */
export class VerifyProject {
	readonly folder: string;

	private constructor(folder: string) {
		this.folder = folder;
	}

	static async make(context: TestContext, files: Readonly<Record<string, unknown>> = {}): Promise<VerifyProject> {
		const folder = await mkdtemp(join(tmpdir(), 'rl-verify-'));
		context.after(() => rm(folder, { recursive: true, force: true }));
		const project = new VerifyProject(folder);
		for (const [name, content] of Object.entries(files)) await project.write(name, content);
		return project;
	}

	path(name: string): string {
		return join(this.folder, name);
	}

	/** Writes strings unchanged and anything else as JSON. */
	async write(name: string, content: unknown): Promise<string> {
		const path = this.path(name);
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
		return path;
	}

	/** Creates a run in runs/ with its own recipe and the given rollouts by step. */
	async run(
		name: string,
		steps: Readonly<Record<number, readonly (RolloutLine | string)[]>>,
		changes: { created?: number; recipe?: unknown } = {},
	): Promise<string> {
		const run = this.path(`runs/${name}`);
		await writeRecord(run, { id: name, created: changes.created ?? 1000 });
		if (changes.recipe !== undefined) await this.write(`runs/${name}/recipe.json`, changes.recipe);
		for (const [step, lines] of Object.entries(steps)) {
			const path = rolloutPath(run, Number(step));
			await mkdir(dirname(path), { recursive: true });
			await writeFile(
				path,
				lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
			);
		}
		return run;
	}
}

/** Builds the rollouts of a generation batch in engine format; every second one is correct. */
export function batch(
	step: number,
	groups: number,
	size: number,
	rewards = (i: number): Record<string, number | null> => ({ accuracy: (i + 1) % 2 }),
) {
	return Array.from({ length: groups * size }, (_, i): RolloutLine => {
		const group = Math.floor(i / size);
		return {
			step,
			stage: 'grpo',
			group,
			index: i % size,
			prompt: `${group}+1=`,
			completion: `<think>t</think><answer>${i % 2 === 0 ? group + 1 : 'x'}</answer>`,
			answer: String(group + 1),
			row: { a: group, b: 1 },
			rewards: rewards(i),
			reward: 1,
			advantage: 0,
			truncated: false,
			tokens: { text: ['a'], logprob: [-0.5] },
		};
	});
}
