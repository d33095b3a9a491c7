import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimsRunning, readPipeline, readPipelineState } from '../../src/runs/pipeline/pipelineFolder.ts';
import { resumePipeline, startPipeline } from '../../src/runs/pipeline/startPipeline.ts';
import { builtProgram } from '../support/programs.ts';
import { made, states } from '../unit/pipeline/pipelinePlace.ts';
import { writeRecipe } from './recipes.ts';
import type { Work, WorkKind } from './work.ts';

const engine = builtProgram('dist/engine.js');

const stages = [
	{ name: 'cold', type: 'sft', steps: 10, learning_rate: 1e-2, batch_size: 8 },
	{ name: 'rl', type: 'grpo', from: 'cold', steps: 8, num_generations: 4, prompts_per_step: 2, learning_rate: 1e-3 },
	{ name: 'solve', type: 'search', from: 'rl', problems: 8, keep: 'all', params: { n: 2 }, searches: 2 },
	{ name: 'measure', type: 'evaluate', from: 'rl', problems: 6, samples: 2, concurrency: 1 },
];
const recipe = {
	name: 'small',
	workers: 1,
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	evaluate: { every: 100, problems: 8 },
	stages,
};

class PipelineWork implements Work {
	readonly folder: string;
	readonly #recipe: string;
	readonly #environment: Record<string, string>;
	#pipeline = '';
	#failure = '';

	constructor(folder: string, path: string, environment: Readonly<Record<string, string>>) {
		this.folder = folder;
		this.#recipe = path;
		this.#environment = { ...environment };
	}

	/** Starts the runner. If the runner is hit before it does any work, it is resumed like any other. */
	async start(): Promise<void> {
		const options = {
			engine,
			environment: this.#environment,
			onFolder: (folder: string) => {
				this.#pipeline = folder;
			},
		};
		startPipeline(this.#recipe, {}, options).catch((error: unknown) => {
			this.#failure = String(error);
		});
		while (this.#pipeline === '' && this.#failure === '') await new Promise((resolve) => setTimeout(resolve, 5));
	}

	async resume(): Promise<void> {
		this.#failure = '';
		await resumePipeline(this.#pipeline, {}, { engine, environment: this.#environment }).catch((error: unknown) => {
			this.#failure = String(error);
		});
	}

	async startTwice(): Promise<string | null> {
		try {
			await resumePipeline(this.#pipeline, {}, { engine, environment: this.#environment });
			return null;
		} catch (error) {
			return String(error);
		}
	}

	async isOver(): Promise<boolean> {
		const { record, status } = await readPipelineState(this.#pipeline);
		return record.pid !== process.pid && !claimsRunning({ status });
	}

	async isComplete(): Promise<boolean> {
		return (await readPipeline(this.#pipeline)).status === 'finished';
	}

	async outcome(): Promise<unknown> {
		const record = await readPipeline(this.#pipeline);
		const data = join(this.#pipeline, 'solve', 'data');
		const texts = (await readdir(data)).sort().map((name) => readFile(join(data, name), 'utf8'));
		return {
			states: states(record),
			made: stages.map(({ name }) => made(record, name)),
			data: await Promise.all(texts),
		};
	}

	async reason(): Promise<string> {
		const record = await readPipeline(this.#pipeline).catch(() => null);
		return `${record?.status} ${record?.error?.message ?? ''} ${this.#failure}`.trim();
	}
}

export const pipelineKind: WorkKind = {
	name: 'pipeline',
	roles: ['runner', 'engine'],
	async make(folder, seed, environment) {
		const more = { seed: seed + 1, checkpoint: { every: 2 + (seed % 3), keep: 2 } };
		return new PipelineWork(folder, await writeRecipe(folder, { recipe, files: {} }, more), environment);
	},
};
