import { lstat, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { deferred } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { dependenciesOf } from '../core/pipeline/pipelineGraph.ts';
import { artifactsOf, planStage, type StagePlan, type StageRun, skipReason } from '../core/pipeline/planStage.ts';
import { StageFailure } from '../core/pipeline/stageFailure.ts';
import { removeAsideFiles } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { endingMs, heartbeatMs } from '../files/lockTimes.ts';
import { ownIdentity } from '../processes/processIdentity.ts';
import type { PipelineRecord, StageState } from '../protocol/pipeline.ts';
import { pipelineFiles } from '../protocol/pipelineFiles.ts';
import { isRunnerStage, type NamedStage, type PipelineRecipe } from '../protocol/recipeKeys/pipelineRecipe.ts';
import type { DeviceGroup } from '../runs/deviceQueue.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { launchEngine } from '../runs/launchEngine.ts';
import { type CompiledStage, compiledStage, makeStageFolder } from '../runs/pipeline/compiledStage.ts';
import { markPipelineStarted } from '../runs/pipeline/foreignPipeline.ts';
import {
	claimsRunning,
	hashRecipe,
	readPipeline,
	readPipelineRecipe,
	writePipeline,
	writePipelineRecipe,
} from '../runs/pipeline/pipelineFolder.ts';
import { freshState, orderedStages, readPipelineFile } from '../runs/pipeline/startPipeline.ts';
import { openControl } from '../runs/runControl.ts';
import { readRecord } from '../runs/runReader.ts';
import { checkedStates } from './checkedStates.ts';
import { evaluateStage } from './evaluateStage.ts';
import { MemoryRoom } from './memoryRoom.ts';
import { searchStage } from './searchStage.ts';
import { stageNeed } from './stageNeed.ts';
import type { StageEnd, StageWork } from './stageWork.ts';
import { finishedRun, runLives, stopRun, trainStage } from './trainStage.ts';

export interface RunnerOptions {
	readonly folder: string;
	/** Path to the embedded engine. */
	readonly engine: string;
	/** Path to a changed recipe, or null to use the recipe in the folder. */
	readonly recipe: string | null;
	readonly acceptChanges: boolean;
	/** Maximum number of concurrent stages, or null to keep the recorded one. */
	readonly parallel?: number | null;
	/** Starts a training stage's engine. Default: as a separate process. */
	readonly launch?: StageWork['launch'];
}

/** Minimum interval between stage progress writes. */
const reportMs = 1000;
const seconds = () => Date.now() / 1000;

/**
 * Runs the stages of a pipeline, each after its dependencies. The pipeline folder always records the current state, so
 * a killed run can be resumed. Only one runner can use a folder at a time.
 */
export class PipelineRunner {
	readonly #options: RunnerOptions;
	readonly #recipe: PipelineRecipe;
	/** When the previous runner last wrote the record, in seconds since the epoch. */
	readonly #before: number;
	readonly #stop = new AbortController();
	readonly #ended = deferred<void>();
	#record: PipelineRecord;
	readonly #room = new MemoryRoom();
	/** Aborts when the pipeline is stopped or a stage fails, after which no further stages start. */
	readonly #closing = new AbortController();
	#writing: Promise<void> = Promise.resolve();
	#reportedAt = 0;

	private constructor(options: RunnerOptions, recipe: PipelineRecipe, record: PipelineRecord, before: number) {
		this.#options = options;
		this.#before = before;
		this.#recipe = recipe;
		this.#record = record;
	}

	/**
	 * Runs until all stages are done, one fails, or the pipeline is stopped. Before changing anything, fails with `busy`
	 * if another runner is using the folder, with `mismatch` if a stage output has changed, and with `invalid` for a bad
	 * recipe.
	 * @returns the exit status: 0 if finished or stopped, 1 if a stage failed
	 */
	static async run(options: RunnerOptions, onStopper: (stop: () => void) => void): Promise<number> {
		const before = await readPipeline(options.folder).catch(() => null);
		const patienceMs = before !== null && !claimsRunning(before) ? endingMs : 0;
		const path = join(options.folder, pipelineFiles.lock);
		const lock = await FileLock.acquire(path, `The pipeline ${options.folder}`, patienceMs);
		try {
			await removeAsideFiles(options.folder);
			const known = await readPipeline(options.folder);
			const changed = options.recipe === null ? null : await readPipelineFile(options.recipe);
			if (options.recipe !== null && changed === null) {
				throw new Failure('invalid', `${options.recipe} is not a pipeline: its stages have no names.`);
			}
			const recipe = changed ?? (await readPipelineRecipe(options.folder));
			const recipeFolder = options.recipe === null ? known.recipeFolder : dirname(resolve(options.recipe));
			const stages = await checkedStates(options, recipe, known);
			const record: PipelineRecord = {
				...known,
				...(await ownIdentity()),
				status: 'running',
				attempt: known.attempt + 1,
				recipeFolder,
				hashes: { recipe: hashRecipe(recipe) },
				...(options.parallel == null ? {} : { parallel: options.parallel }),
				stages,
			};
			delete record.error;
			if (changed !== null) {
				await writePipelineRecipe(options.folder, changed);
				await writePipeline(options.folder, record);
				await markPipelineStarted(options.folder).catch(() => undefined);
			}
			const runner = new PipelineRunner(options, recipe, record, known.updated);
			onStopper(() => runner.stop());
			return await runner.#work();
		} finally {
			await lock.release();
		}
	}

	stop(): void {
		this.#stop.abort();
		this.#closing.abort();
	}

	async #work(): Promise<number> {
		const { folder } = this.#options;
		const control = await openControl(folder, this.#record.id, {
			serving: false,
			handlers: {
				'pipeline/stop': async () => {
					this.stop();
					await this.#ended.promise;
					return {};
				},
			},
		});
		const heart = setInterval(() => void this.#write().catch(() => undefined), heartbeatMs);
		try {
			await this.#write();
			const status = await this.#stages();
			this.#record = { ...this.#record, status };
			await this.#write();
			return status === 'failed' ? 1 : 0;
		} finally {
			clearInterval(heart);
			this.#ended.resolve();
			await control.close();
		}
	}

	/**
	 * Runs the stages, in recipe order where dependencies allow. If one fails, stages that are already running continue
	 * until they end.
	 */
	async #stages(): Promise<'finished' | 'stopped' | 'failed'> {
		const open = new Set(orderedStages(this.#recipe));
		const running = new Map<string, Promise<void>>();
		const done = new Set<string>();
		let stopped = false;
		const start = async (stage: NamedStage) => {
			try {
				if ((await this.#stage(stage)) === 'done') done.add(stage.name);
				else {
					// Its run may have been stopped separately.
					stopped = true;
					this.#closing.abort();
				}
			} catch (error) {
				this.#fail(stage, Failure.from(error));
			} finally {
				this.#room.leave(stage.name);
				running.delete(stage.name);
			}
		};
		for (;;) {
			for (const stage of open) {
				if (this.#closing.signal.aborted || running.size >= (this.#record.parallel ?? 1)) break;
				if (!dependenciesOf(stage).every((name) => done.has(name))) continue;
				open.delete(stage);
				running.set(stage.name, start(stage));
			}
			if (running.size === 0) break;
			await Promise.race(running.values());
		}
		if (this.#stop.signal.aborted) await Promise.all([...open].map((stage) => this.#stopRunOf(stage)));
		if (this.#record.error !== undefined) return 'failed';
		return stopped || open.size > 0 ? 'stopped' : 'finished';
	}

	/** Records a stage's failure. The first failure also becomes the pipeline's failure. */
	#fail(stage: NamedStage, failure: Failure): void {
		this.#closing.abort();
		this.#change(stage, { status: 'failed', ended: seconds(), error: failure.toJSON(), wait: undefined });
		const named = StageFailure.naming(stage.name, failure, `The stage "${stage.name}" failed`);
		this.#record = { ...this.#record, error: this.#record.error ?? named.toJSON() };
		process.stderr.write(`${failure.stack ?? failure.toString()}\n`);
		void this.#write().catch(() => undefined);
	}

	async #stage(stage: NamedStage): Promise<'done' | 'stopped'> {
		const skipped = skipReason(stage, this.#states);
		if (skipped !== null) {
			this.#change(stage, { ...freshState(stage), status: 'skipped', skipped, ended: seconds() });
			return 'done';
		}
		const compiled = await this.#compile(stage);
		const state = this.#states.get(stage.name);
		const plan = planStage(state, await this.#runOf(stage, state), compiled.inputHash);
		if (plan === 'keep') return 'done';
		if (!(await this.#enter(compiled, plan))) return 'stopped';
		if (plan === 'again') await this.#setAside(stage);
		const folder = join(this.#options.folder, stage.name);
		if (plan === 'again' || plan === 'begin') {
			const { kept } = this.#states.get(stage.name) ?? {};
			this.#change(stage, {
				...freshState(stage),
				...(kept === undefined ? {} : { kept }),
				started: seconds(),
				inputHash: compiled.inputHash,
			});
			// Write this before creating the folder: a folder without a recorded hash would be mistaken for another stage's.
			await this.#write();
			if ((await lstat(folder).catch(() => null)) === null) await makeStageFolder(this.#options.folder, compiled);
		}
		if (plan === 'follow' || plan === 'take') await this.#countTimeAlone(stage);
		this.#change(stage, { status: 'running', ended: null, error: undefined, skipped: undefined });
		await this.#write();
		const end = await this.#do(
			{
				stage,
				recipe: compiled.recipe,
				folder,
				resume: plan === 'resume' || plan === 'follow',
				engine: this.#options.engine,
				launch: this.#options.launch ?? launchEngine,
				deviceGroup: this.#deviceGroup(),
				spent: this.#states.get(stage.name)?.spent ?? 0,
				usage: this.#states.get(stage.name)?.usage ?? null,
				signal: this.#stop.signal,
				report: (news) => this.#report(stage, news),
			},
			plan === 'take',
		);
		if (end.kind === 'stopped') {
			this.#change(stage, { status: 'stopped', ended: seconds() });
			return 'stopped';
		}
		const { outputs, accuracy, cut, partial } = end;
		this.#change(stage, { status: 'finished', ended: seconds(), outputs: [...outputs], accuracy, cut, partial });
		await this.#write();
		return 'done';
	}

	/** Adds the time that the stage's engine kept running after the previous runner ended. */
	async #countTimeAlone(stage: NamedStage): Promise<void> {
		const record = await readRecord(join(this.#options.folder, stage.name)).catch(() => null);
		const alone = (record?.updated ?? this.#before) - this.#before;
		const { spent = 0 } = this.#states.get(stage.name) ?? {};
		if (alone > 0) this.#change(stage, { spent: spent + alone });
	}

	/** Waits until there is enough memory on this machine. Returns whether the stage may start. */
	async #enter({ stage, recipe }: CompiledStage, plan: StagePlan): Promise<boolean> {
		const { name } = stage;
		const need = this.#deviceGroup() === null ? null : await stageNeed(recipe);
		if (plan === 'follow') {
			// If the pipeline is being stopped, stop the run, too.
			this.#room.hold(name, need);
			return true;
		}
		const waits = () => {
			this.#change(stage, { wait: need === null ? 'alone' : 'memory' });
			void this.#write().catch(() => undefined);
		};
		const entered = await this.#room.enter(name, need, this.#closing.signal, waits);
		this.#change(stage, { wait: undefined });
		return entered;
	}

	/** Returns the group that may use a device at the same time, or null if stages run one after another. */
	#deviceGroup(): DeviceGroup | null {
		const { id, parallel = 1 } = this.#record;
		return parallel > 1 ? { id, slots: parallel } : null;
	}

	async #do(work: StageWork, ended: boolean): Promise<StageEnd> {
		if (work.stage.type === 'search') return searchStage(work);
		if (work.stage.type === 'evaluate') return evaluateStage(work);
		return ended ? { kind: 'finished', ...(await finishedRun(work)) } : trainStage(work);
	}

	#compile(stage: NamedStage): Promise<CompiledStage> {
		const { folder } = this.#options;
		const pathOf = (name: string, output: string) => join(folder, name, ...output.split('/'));
		const known = new Map(
			this.#record.stages.flatMap(({ name, outputs }) =>
				outputs.map(({ path, sha256 }) => [pathOf(name, path), sha256] as const),
			),
		);
		const artifacts = artifactsOf(this.#recipe, stage, this.#states, pathOf);
		return compiledStage(this.#recipe, stage, artifacts, this.#record.recipeFolder, known);
	}

	/** Returns the status of the run in the stage's folder. */
	async #runOf(stage: NamedStage, state: StageState | undefined): Promise<StageRun> {
		const folder = join(this.#options.folder, stage.name);
		const info = await lstat(folder).catch(() => null);
		if (info === null) return 'none';
		if (!info.isDirectory()) throw new Failure('invalid', `${folder} is not a folder.`, 'Remove it, then resume.');
		// Searches and evaluations can resume from existing results.
		if (isRunnerStage(stage.type)) return state?.status === 'finished' ? 'finished' : 'resumable';
		if (await runLives(folder)) return 'live';
		const record = await readRecord(folder).catch(() => null);
		return record?.status === 'finished' ? 'finished' : 'resumable';
	}

	/** Stops a stage's run that a previous runner started and that this one has not reached. */
	async #stopRunOf(stage: NamedStage): Promise<void> {
		const folder = join(this.#options.folder, stage.name);
		if (isRunnerStage(stage.type) || !(await runLives(folder))) return;
		try {
			const record = await readRecord(folder);
			await stopRun(folder, record, true);
			await engineReleased(folder, record);
		} catch (error) {
			process.stderr.write(`${Failure.from(error, `Cannot stop ${folder}`)}\n`);
		}
	}

	/** Renames the stage's folder to keep its content. */
	async #setAside(stage: NamedStage): Promise<void> {
		const folder = join(this.#options.folder, stage.name);
		if ((await lstat(folder).catch(() => null)) === null) return;
		const record = await readRecord(folder).catch(() => null);
		if (record !== null && (await runLives(folder))) await stopRun(folder, record, false);
		if (record !== null) await engineReleased(folder, record);
		let name = '';
		for (let i = 1; ; i++) {
			name = `${stage.name}~${i}`;
			if ((await lstat(join(this.#options.folder, name)).catch(() => null)) === null) break;
		}
		await rename(folder, join(this.#options.folder, name)).catch((error: unknown) => {
			throw Failure.from(error, `Cannot rename ${folder}`);
		});
		const kept = this.#states.get(stage.name)?.kept ?? [];
		this.#change(stage, { kept: [...kept, name] });
	}

	get #states(): ReadonlyMap<string, StageState> {
		return new Map(this.#record.stages.map((state) => [state.name, state]));
	}

	/** Undefined removes a field. */
	#change(stage: NamedStage, change: { readonly [K in keyof StageState]?: StageState[K] | undefined }): void {
		const stages = this.#record.stages.map((state) => {
			if (state.name !== stage.name) return state;
			const entries = Object.entries({ ...state, ...change }).filter(([, value]) => value !== undefined);
			return Object.fromEntries(entries) as StageState;
		});
		this.#record = { ...this.#record, stages };
	}

	#report(stage: NamedStage, news: Parameters<StageWork['report']>[0]): void {
		this.#change(stage, news);
		if (news.attempt === undefined && Date.now() - this.#reportedAt < reportMs) return;
		this.#reportedAt = Date.now();
		void this.#write().catch(() => undefined);
	}

	/** Serializes writes. Each one writes the state as of when it starts. */
	#write(): Promise<void> {
		const now = async () => {
			const time = seconds();
			this.#record = { ...this.#record, updated: time, heartbeat: time };
			await writePipeline(this.#options.folder, this.#record);
		};
		this.#writing = this.#writing.then(now, now);
		return this.#writing;
	}
}
