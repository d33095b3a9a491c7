// @reaches pipeline
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Failure } from '../../../src/base/failure.ts';
import { processState } from '../../../src/processes/processIdentity.ts';
import type { PipelineRecord, StageState } from '../../../src/protocol/pipeline.ts';
import type { launchEngine } from '../../../src/runs/launchEngine.ts';
import { claimsRunning, readPipeline, readPipelineState } from '../../../src/runs/pipeline/pipelineFolder.ts';
import {
	type PipelineOptions,
	preparePipeline,
	type ResumeChanges,
	resumePipeline,
	type StartedPipeline,
	startPipeline,
} from '../../../src/runs/pipeline/startPipeline.ts';
import { runsIn } from '../../../src/runs/runFolders.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { root } from '../../scripts/paths.ts';
import { builtProgram } from '../../support/programs.ts';
import { eventually } from '../engines/embedded/engineProcess.ts';
import { runHere } from '../engines/embedded/runHere.ts';

const engine = builtProgram('dist/engine.js');
const program = builtProgram('dist/pipeline.js');

const tiny = {
	name: 'tiny',
	seed: 7,
	workers: 1,
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	evaluate: { every: 100, problems: 8 },
	checkpoint: { every: 4, keep: 2 },
};
export const cold = { name: 'cold', type: 'sft', steps: 8, learning_rate: 1e-2, batch_size: 8 };
export const rl = {
	name: 'rl',
	type: 'grpo',
	from: 'cold',
	steps: 6,
	num_generations: 4,
	prompts_per_step: 2,
	learning_rate: 1e-3,
};

interface HereOptions {
	/** Stage whose engine does not start. */
	readonly failing?: string;
	/** Number of stages that run at once. */
	readonly parallel?: number;
}

/** The part of src/pipeline/pipelineRunner.ts used by this file. */
interface RunnerModule {
	readonly PipelineRunner: {
		run(
			options: {
				readonly folder: string;
				readonly engine: string;
				readonly recipe: string | null;
				readonly acceptChanges: boolean;
				readonly parallel: number | null;
				readonly launch: typeof launchEngine;
			},
			onStopper: () => void,
		): Promise<number>;
	};
}

/** The part of src/pipeline/trainStage.ts used by this file. */
interface TrainStageModule {
	trainStage(work: object): Promise<{ readonly kind: string; readonly outputs: StageState['outputs'] }>;
}

/** Folder for pipelines with its own registry and runtime folder; processes that use it end with the test. */
export class PipelinePlace {
	readonly folder: string;
	readonly options: PipelineOptions;

	private constructor(folder: string, environment: Record<string, string>) {
		this.folder = folder;
		this.options = { engine, environment };
	}

	static async make(context: TestContext): Promise<PipelinePlace> {
		const folder = await mkdtemp(join(tmpdir(), 'rp-'));
		await mkdir(join(folder, 'x'), { mode: 0o700 });
		const environment = { REASONING_LAB_HOME: join(folder, 'home'), XDG_RUNTIME_DIR: join(folder, 'x') };
		// Clients must look in the same locations as the processes we start.
		Object.assign(process.env, environment);
		const place = new PipelinePlace(folder, environment);
		context.after(async () => {
			await place.#endAll();
			// A runner that has just exited may still be removing its lock.
			await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
		});
		return place;
	}

	async #endAll(): Promise<void> {
		const { readdir } = await import('node:fs/promises');
		const runs = join(this.folder, 'runs');
		for (const name of await readdir(runs).catch(() => [])) {
			const record = await readPipeline(join(runs, name)).catch(() => null);
			if (record !== null && claimsRunning(record)) await kill(record);
		}
		for (const run of await runsIn(runs)) {
			const record = await readRecord(run).catch(() => null);
			if (record !== null) await kill(record);
		}
	}

	async write(stages: readonly object[], more: object = {}, name = 'tiny'): Promise<string> {
		const path = join(this.folder, `${name}.recipe.json`);
		await writeFile(path, JSON.stringify({ ...tiny, ...more, stages }));
		return path;
	}

	async start(stages: readonly object[], more: object = {}, options = this.options): Promise<StartedPipeline> {
		return startPipeline(await this.write(stages, more), {}, options);
	}

	async prepare(stages: readonly object[], more: object = {}): Promise<string> {
		return preparePipeline(await this.write(stages, more));
	}

	resume(folder: string, changes: ResumeChanges = {}, options = this.options): Promise<StartedPipeline> {
		return resumePipeline(folder, changes, options);
	}

	/** Starts a runner on a folder without the checks of `resumePipeline`, and waits until it ends. */
	async runner(folder: string): Promise<{ readonly code: number | null; readonly output: string }> {
		const child = spawn(process.execPath, [program, '--pipeline', folder, '--engine', engine], {
			env: { ...process.env, ...this.options.environment },
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		let output = '';
		for (const stream of [child.stdout, child.stderr]) {
			stream.setEncoding('utf8').on('data', (text: string) => {
				output += text;
			});
		}
		const [code] = (await once(child, 'close')) as [number | null];
		return { code, output };
	}

	async run(stages: readonly object[], more: object = {}): Promise<{ folder: string; record: PipelineRecord }> {
		const { folder } = await this.start(stages, more);
		return { folder, record: await ended(folder) };
	}

	/**
	 * Runs a new pipeline in this process, including the engines of its training stages, for tests that do not depend on
	 * processes. A short pipeline then takes about a quarter of the CPU time.
	 */
	async runHere(
		stages: readonly object[],
		more: object = {},
		options: HereOptions = {},
	): Promise<{ folder: string; record: PipelineRecord }> {
		const folder = await this.prepare(stages, more);
		return { folder, record: await this.resumedHere(folder, {}, options) };
	}

	/** Resumes a pipeline in the same way, without the checks of `resumePipeline`. */
	async resumedHere(
		folder: string,
		{ recipe, acceptChanges = false }: ResumeChanges = {},
		{ failing, parallel }: HereOptions = {},
	): Promise<PipelineRecord> {
		// Imported by a computed name for the same reason as the engine in `runHere`.
		const sources = pathToFileURL(join(root, 'src')).href;
		const { PipelineRunner } = (await import(`${sources}/pipeline/pipelineRunner.ts`)) as RunnerModule;
		const launch: typeof launchEngine = async (run, { resume = false }) => {
			if (basename(run) === failing) throw new Failure('unavailable', 'The engine does not start.');
			await runHere({ folder: this.folder, environment: {} }, run, { resume });
			return readRecord(run);
		};
		const options = { folder, engine, recipe: recipe ?? null, acceptChanges, parallel: parallel ?? null, launch };
		await PipelineRunner.run(options, () => undefined);
		return readPipeline(folder);
	}

	/** Runs or resumes only the run of a training stage in this process, whatever a runner would have planned. */
	async trainStage(run: string, stage: object, launch: typeof launchEngine) {
		const sources = pathToFileURL(join(root, 'src')).href;
		const { trainStage } = (await import(`${sources}/pipeline/trainStage.ts`)) as TrainStageModule;
		const { signal } = new AbortController();
		const how = { engine, launch, resume: true, deviceGroup: null, spent: 0, signal, report: () => undefined };
		return trainStage({ ...how, folder: run, stage });
	}

	async resumed(folder: string, changes: ResumeChanges = {}): Promise<PipelineRecord> {
		const { record } = await this.resume(folder, changes);
		return ended(folder, record.attempt);
	}
}

/** Kills a process if it is running. */
export async function kill(record: Parameters<typeof processState>[0]): Promise<void> {
	if (record.pid === process.pid || (await processState(record)) !== 'alive') return;
	process.kill(record.pid, 'SIGKILL');
	await eventually(async () => (await processState(record)) !== 'alive', 'a killed process ends');
}

export function ended(folder: string, attempt = 1): Promise<PipelineRecord> {
	return eventually(async () => {
		const { record, status } = await readPipelineState(folder);
		return record.attempt < attempt || claimsRunning({ status }) ? null : record;
	}, 'the pipeline ends');
}

export const stageOf = (record: PipelineRecord, name: string): StageState =>
	record.stages.find((stage) => stage.name === name) as StageState;

export const states = (record: PipelineRecord): string[] =>
	record.stages.map(({ name, status }) => `${name} ${status}`);

/** Returns the results of a stage without timestamps. */
export const made = (record: PipelineRecord, name: string): unknown =>
	stageOf(record, name).outputs.map(({ kind, path, sha256 }) => [kind, path, sha256]);

/** Returns the number of steps of a stage's run, or 0 if it does not exist yet. */
export async function stepsOf(folder: string, stage: string): Promise<number> {
	return (await readRecord(join(folder, stage)).catch(() => null))?.step ?? 0;
}
