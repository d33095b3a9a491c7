import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deferred } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { sha256 } from '../../../files/sha256.ts';
import type { OrderlyEnd, RunRecord } from '../../../protocol/runRecord.ts';
import type { ControlServer } from '../../../rpc/controlServer.ts';
import { startMark } from '../../../runs/foreignCode.ts';
import { checkRewardCopies, hashRewards } from '../../../runs/rewardCopies.ts';
import { openControl } from '../../../runs/runControl.ts';
import { hasRecord } from '../../../runs/runReader.ts';
import { RunRegistry } from '../../../runs/runRegistry.ts';
import { type InitialRecord, RunWriter } from '../../../runs/runWriter.ts';
import { DiskReserve } from '../../shared/diskReserve.ts';
import type { EngineArguments } from '../../shared/engineArguments.ts';
import type { EngineProcess } from '../../shared/engineProcess.ts';
import { type RecipeOfRun, recipeOfRun } from '../../shared/recipeOfRun.ts';
import { clusterOf } from './clusterAddress.ts';
import type { JobEnd } from './jobEnd.ts';
import { JobsApi } from './jobsApi.ts';
import { rayControls } from './rayControls.ts';
import { RayCourse, type RayCourseOptions } from './rayCourse.ts';

type RunArguments = Extract<EngineArguments, { kind: 'run' }>;

export interface RayEngineOptions
	extends Pick<RayCourseOptions, 'tickMs' | 'pollMs' | 'stopMs' | 'quietMs' | 'unreachableMs'> {
	readonly environment?: NodeJS.ProcessEnv;
	/** Folder that contains the build output. Default: this program's folder. */
	readonly dist?: string;
}

/** Returns this program's folder, dist/driver.js. When run from source, returns the latest build. */
function ownDist(): string {
	const folder = dirname(fileURLToPath(import.meta.url));
	return import.meta.url.endsWith('.ts') ? join(folder, '..', '..', '..', '..', 'dist') : folder;
}

/**
 * Local process for a run on a Ray cluster. Owns the run folder, its lock and its control endpoint, submits the job,
 * and mirrors its output. The job outlives this process. Resuming the run reattaches to the job.
 */
export function runRayEngine(args: RunArguments, options: RayEngineOptions = {}): EngineProcess {
	const stop = new AbortController();
	const crashed = deferred<never>();
	crashed.promise.catch(() => undefined);
	const run = new RayRun(args, options, stop, crashed.promise);
	return {
		stop: () => stop.abort(),
		crash: (error) => crashed.reject(error),
		abandon: () => run.abandon(),
		exit: run.run(),
	};
}

class RayRun {
	readonly #args: RunArguments;
	readonly #recipe: () => Promise<RecipeOfRun>;
	readonly #options: RayEngineOptions;
	readonly #stop: AbortController;
	readonly #crash: Promise<never>;
	readonly #ended = deferred<void>();
	#writer: RunWriter | null = null;
	#reserve: DiskReserve | null = null;
	#server: ControlServer | null = null;
	#course: RayCourse | null = null;

	constructor(args: RunArguments, options: RayEngineOptions, stop: AbortController, crash: Promise<never>) {
		this.#args = args;
		this.#recipe = recipeOfRun(args.run);
		this.#options = options;
		this.#stop = stop;
		this.#crash = crash;
	}

	abandon(): void {
		this.#course?.abandon();
	}

	async run(): Promise<number> {
		const alive = setInterval(() => undefined, 1 << 30);
		try {
			const writer = await this.#open();
			const end = await Promise.race([this.#follow(writer), this.#crash]);
			if (end.status === 'crashed') throw end.failure;
			await this.#end(writer, end.status);
			return 0;
		} catch (error) {
			return await this.#fail(error);
		} finally {
			await this.#release();
			clearInterval(alive);
		}
	}

	/**
	 * Acquires the lock. Creates the run record before reading the recipe, so recipe errors can be recorded in run.json.
	 */
	async #open(): Promise<RunWriter> {
		const { run, resume } = this.#args;
		const isThere = await hasRecord(run);
		this.#writer = resume && isThere ? await RunWriter.reopen(run) : await RunWriter.create(run, await this.#initial());
		this.#reserve = await DiskReserve.take(run);
		return this.#writer;
	}

	async #initial(): Promise<InitialRecord> {
		const { run, parentCheckpoint } = this.#args;
		const recipe = await this.#recipe().then(
			(read) => read.recipe,
			() => null,
		);
		return {
			id: basename(run),
			name: recipe?.name ?? basename(run),
			engine: 'ray',
			stage: null,
			totalSteps: recipe === null ? null : recipe.stages.reduce((sum, stage) => sum + stage.steps, 0),
			device: 'ray',
			parent: parentCheckpoint === null ? null : { run: '', checkpoint: parentCheckpoint },
			seeds: recipe === null ? {} : { recipe: recipe.seed },
			versions: {},
			hashes: { recipe: '', dataset: '', rewards: '' },
		};
	}

	async #follow(writer: RunWriter): Promise<JobEnd> {
		const { run, resume, parentCheckpoint } = this.#args;
		const { environment = process.env } = this.#options;
		const { value, recipe } = await this.#recipe();
		this.#server = await openControl(run, writer.record.id, {
			serving: false,
			handlers: rayControls({
				run,
				stop: () => this.#stop.abort(),
				ended: this.#ended.promise,
				status: () => writer.record,
				course: () => this.#course,
			}),
		});
		await this.#checkUnchanged(writer, value, recipe);
		await new RunRegistry()
			.add(run, undefined, startMark(value))
			.catch((error: unknown) => writer.log(`registry: ${Failure.from(error).message}`));
		const api = new JobsApi(await clusterOf(recipe.ray?.address ?? null, environment));
		this.#course = new RayCourse({
			api,
			recipe,
			writer,
			resume,
			parentCheckpoint,
			dist: this.#options.dist ?? ownDist(),
			stopSignal: this.#stop.signal,
			onChanged: () => this.#server?.changed(),
			...this.#options,
		});
		return await this.#course.run();
	}

	/** Checks that the recipe and rewards are unchanged. Only the cluster knows which data the run has read. */
	async #checkUnchanged(writer: RunWriter, value: unknown, recipe: ResolvedRecipe): Promise<void> {
		const { run, resume } = this.#args;
		const source = sha256(JSON.stringify(value) + hashRewards(value));
		const before = writer.record.source;
		if (resume && typeof before === 'string' && before !== source) {
			throw new Failure(
				'mismatch',
				`The recipe.json or the reward files in ${run} have changed since the run started.`,
				'Restore them, or start a new run from a checkpoint.',
			);
		}
		await checkRewardCopies(run, recipe);
		await writer.updateRecord({ source } as Partial<RunRecord>);
	}

	/**
	 * Records the end of the run. A run that ended on the cluster has already recorded it as an event, but a stopped job
	 * has not.
	 */
	async #end(writer: RunWriter, status: OrderlyEnd): Promise<void> {
		const { step } = writer.record;
		if (!this.#course?.reportedEnd) await writer.appendEvent({ type: status, step, local: true });
		await writer.updateRecord({ status, step, pause: undefined });
		await this.#course?.tidy();
	}

	async #fail(error: unknown): Promise<number> {
		const stopped = this.#stop.signal.aborted && error instanceof Failure && error.reason === 'cancelled';
		const failure = Failure.from(error);
		const writer = this.#writer;
		if (writer !== null && stopped && writer.record.ray === undefined) {
			// The run was stopped before a job existed.
			await this.#end(writer, 'stopped').catch(() => undefined);
			return 0;
		}
		process.stderr.write(`${failure.toString()}\n`);
		if (writer !== null) {
			await this.#reserve?.release();
			if (failure.reason === 'internal') writer.log(error instanceof Error ? `${error.stack}` : failure.message);
			const { reason, message, action } = failure.toJSON();
			const { step } = writer.record;
			await Promise.allSettled([
				writer.updateRecord({
					status: 'crashed',
					pause: undefined,
					error: { reason, message, ...(action ? { action } : {}) },
				}),
				writer.appendEvent({ type: 'crashed', reason, message, step, local: true }),
				writer.close(),
			]);
		}
		return failure.reason === 'internal' ? 1 : 2;
	}

	async #release(): Promise<void> {
		this.#ended.resolve();
		this.#server?.changed();
		await this.#server?.close();
		await this.#reserve?.release();
		await this.#writer?.close().catch(() => undefined);
	}
}
