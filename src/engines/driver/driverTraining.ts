import { deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { processesOf } from '../../core/recipe/checkBatches.ts';
import { sha256 } from '../../files/sha256.ts';
import type { OrderlyEnd } from '../../protocol/runRecord.ts';
import type { JoinAnnouncement } from '../../protocol/trainerLink.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';
import { type OpenedDataset, openDataset } from '../../runs/openDataset.ts';
import { rewardCopyPath } from '../../runs/rewardCopies.ts';
import { listCheckpoints } from '../../runs/runReader.ts';
import { checkColumns, checkSolutions, checkStages } from '../shared/dataChecks.ts';
import type { OpenedRun, Training } from '../shared/engineRun.ts';
import { newModel } from '../shared/newModel.ts';
import { type Progress, startOfRun } from '../shared/progress.ts';
import { adopt, nothingBefore, recallAccuracy, takeUp } from '../shared/runPast.ts';
import { DriverCourse } from './driverCourse.ts';
import { driverVersions } from './driverVersions.ts';
import { LinkEnvironments } from './linkEnvironments.ts';
import { driverReads, linkProblems } from './linkProblems.ts';
import { type Ending, OrderExchange } from './orderExchange.ts';
import { RequestFolder } from './ray/requestFolder.ts';
import { readStartCheckpoint, type StartCheckpoint } from './torchCheckpoint.ts';
import { TrainerHost } from './trainerHost.ts';
import { TrainerPolicy } from './trainerPolicy.ts';
import {
	checkTrainerVersion,
	contract,
	type LinkParams,
	type LinkResult,
	type TrainerHandlers,
} from './trainerServer.ts';

export interface DriverOptions {
	/** Whether the trainer is started externally. Its launcher reads the connection address from standard output. */
	readonly join: boolean;
	/** Folder where clients place control requests as files, or null. */
	readonly requests: string | null;
}

/** Everything loaded while the trainer starts. */
interface Prepared {
	/** null if the trainer reads the data itself. */
	readonly dataset: OpenedDataset | null;
	/** Checkpoint to continue from, or null to start from scratch. */
	readonly start: StartCheckpoint | null;
	/** Whether the checkpoint belongs to this run. */
	readonly own: boolean;
	readonly rewards: RecipeScorers;
	readonly progress: Progress;
}

/** How long the trainer has to exit on its own, in milliseconds. */
const farewellMs = 20_000;

/** A run whose updates are computed by a trainer. This side handles all files, scoring and requests. */
export class DriverTraining implements Training {
	readonly #run: OpenedRun;
	readonly #options: DriverOptions;
	readonly #orders = new OrderExchange();
	readonly #outcome = deferred<OrderlyEnd>();
	#prepared: Promise<Prepared> | null = null;
	#host: TrainerHost | null = null;
	#requests: RequestFolder | null = null;
	#introduced: LinkParams<'begin'> | null = null;
	#opened: LinkParams<'data/opened'> | null = null;
	readonly #environments: LinkEnvironments;
	#course: DriverCourse | null = null;
	#policy: TrainerPolicy | null = null;
	/** Whether the trainer is about to exit, because it was asked to or has announced it. */
	#farewell = false;

	constructor(run: OpenedRun, options: DriverOptions) {
		this.#run = run;
		this.#environments = new LinkEnvironments(run.folder, run.recipe, processesOf(run.recipe));
		this.#options = options;
		this.#outcome.promise.catch(() => undefined);
	}

	get progress(): Progress | null {
		return this.#course?.progress ?? null;
	}

	get policy(): TrainerPolicy | null {
		return this.#policy;
	}

	async train(): Promise<OrderlyEnd> {
		const { folder, writer, recipe, gate, controls } = this.#run;
		// Loading can take a long time and nothing has been trained yet, so a stop request does not wait for it.
		const early = new Promise<'stopped'>((resolve) => {
			const stop = () => {
				if (this.#course === null) resolve('stopped');
			};
			gate.stopSignal.addEventListener('abort', stop, { once: true });
			if (gate.stopSignal.aborted) stop();
		});
		const prepared = this.#prepare();
		prepared.catch((error: unknown) => {
			// Loading a reward can take a long time, so a stop request does not wait for it.
			if (gate.stopRequest && Failure.from(error).reason === 'cancelled') this.#outcome.resolve('stopped');
			else this.#outcome.reject(error);
		});
		this.#prepared = prepared;
		const { join, requests } = this.#options;
		this.#host = await TrainerHost.start({
			folder,
			id: writer.record.id,
			recipe,
			handlers: this.#handlers(),
			listeners: { rollouts: (notice) => this.#inCourse('rollouts').ahead(notice) },
			log: folder,
			joined: join,
		});
		if (join) {
			const announcement: JoinAnnouncement = this.#host.address;
			process.stdout.write(`${JSON.stringify(announcement)}\n`);
			// The trainer's launcher holds the other end of stdin. If stdin closes, no trainer will connect.
			process.stdin.resume().once('close', () => {
				this.#outcome.reject(new Failure('unavailable', 'The trainer process exited.', 'Resume the run.'));
			});
		}
		if (requests !== null) this.#requests = new RequestFolder(requests, controls);
		const lost = this.#host.lost(() => this.#standing()).then((why) => Promise.reject(why));
		return await Promise.race([this.#outcome.promise, early, lost]);
	}

	async #prepare(): Promise<Prepared> {
		const { recipe, rewards: loading, startPoint } = this.#run;
		const dataset = (await driverReads(recipe.dataset)) ? await openDataset(recipe.dataset) : null;
		if (dataset !== null) checkSolutions(recipe, dataset.source);
		const point = await startPoint();
		const start = point === null ? null : await readStartCheckpoint(point.folder);
		if (start !== null) checkStages(start.folder, start.progress.stageIndex, recipe);
		const rewards = await loading.loaded;
		if (dataset !== null) checkColumns(rewards, dataset.source.training(recipe.seed, 0));
		return { dataset, start, own: point?.own ?? false, rewards, progress: start?.progress ?? startOfRun() };
	}

	async #standing(): Promise<{ step: number | null; checkpoint: number | null }> {
		const checkpoints = await listCheckpoints(this.#run.folder).catch(() => []);
		return { step: this.#course?.progress.step ?? null, checkpoint: checkpoints.at(-1)?.step ?? null };
	}

	#handlers(): TrainerHandlers {
		return {
			begin: (params) => this.#begin(params),
			'data/problems': async (params) => {
				const { dataset } = await this.#ready();
				const { recipe } = this.#run;
				if (dataset === null)
					throw contract(new Failure('invalid', 'The trainer requested problems that it should read itself.'));
				return linkProblems(dataset.source, recipe.seed, params);
			},
			'data/opened': (params) => this.#dataOpened(params),
			ready: (params) => this.#turn(() => this.#start(params)),
			'environment/describe': () => this.#environments.describe(),
			'environment/reset': (params) => this.#environments.reset(params),
			'environment/call': (params) => this.#environments.call(params),
			'environment/reward': (params) => this.#environments.reward(params),
			'environment/failed': (params) => this.#turn(() => this.#inCourse('environment/failed').holdEpisodes(params)),
			'rewards/score': (params) => this.#inCourse('rewards/score').score(params, (task) => this.#turn(task)),
			stage: (params) => this.#turn(() => this.#inCourse('stage').begin(params)),
			step: (params) => this.#turn(() => this.#inCourse('step').update(params)),
			'run/orders': ({ answers, failing }) =>
				failing ? this.#turn(() => this.#failing()) : this.#orders.open(answers),
			alert: async ({ level, message }) => {
				const { writer } = this.#run;
				writer.log(`${level}: ${message}`);
				await writer.appendEvent({ type: 'alert', level, message, step: this.#course?.progress.step ?? 0 });
				return {};
			},
			fault: async ({ stack, ...fault }) => {
				if (stack !== undefined) this.#run.writer.log(stack);
				this.#farewell = true;
				this.#outcome.reject(Failure.of(fault));
				return {};
			},
			finished: async () => {
				const course = this.#inCourse('finished');
				if (!course.isOver)
					throw contract(new Failure('invalid', 'The trainer finished before all stages were complete.'));
				this.#farewell = true;
				this.#outcome.resolve('finished');
				return {};
			},
		};
	}

	async #begin(params: LinkParams<'begin'>): Promise<LinkResult<'begin'>> {
		checkTrainerVersion(params.protocol);
		this.#introduced = params;
		const { dataset, start, own, rewards, progress } = await this.#ready();
		const { folder, writer, recipe } = this.#run;
		const sized = 'path' in recipe.model ? null : recipe.model;
		if (sized !== null && dataset === null) {
			throw new Failure(
				'unsupported',
				'A new model derives its vocabulary from the data, which is available in advance only for a generated task or a JSONL file.',
				'Set "model" to a pretrained model, or provide the data as JSONL.',
			);
		}
		const made = sized === null || dataset === null ? null : newModel(recipe, sized, dataset.source);
		return {
			mode: 'train',
			run: { id: writer.record.id, name: writer.record.name, folder },
			recipe: { ...recipe },
			columns: rewards.scorers.map(({ column: { name, weight, file } }) => ({
				name,
				weight,
				file: file === null ? null : rewardCopyPath(folder, recipe, file),
			})),
			resume:
				start === null
					? null
					: {
							checkpoint: start.folder,
							step: progress.step,
							stage: { index: progress.stageIndex, step: progress.stageStep },
							state: { ...start.trainer },
							sameRun: own,
						},
			newModel: made === null ? null : { tokenizer: made.tokenizer.toTokenizerJson(), shape: { ...made.shape } },
			problems: dataset !== null,
		};
	}

	async #dataOpened(opened: LinkParams<'data/opened'>): Promise<LinkResult<'data/opened'>> {
		this.#opened = opened;
		const { writer } = this.#run;
		const { leftOut, note } = opened;
		const rows = formatCounted(leftOut, 'row was', 'rows were');
		if (leftOut > 0) {
			await writer.appendEvent({
				type: 'alert',
				level: 'warning',
				message: `${rows} skipped${note ? `: ${note}` : '.'}`,
			});
		} else if (note) await writer.appendEvent({ type: 'alert', level: 'info', message: note });
		return {};
	}

	/** Called when the trainer has loaded its weights. Waits for the device, then starts the run. */
	async #start({ context, totalSteps }: LinkParams<'ready'>): Promise<Ending> {
		const run = this.#run;
		const { writer, recipe, resume, gate } = run;
		const { dataset, start, own, rewards, progress } = await this.#ready();
		const { device, kind, versions } = this.#introduced as LinkParams<'begin'>;
		const read = [dataset?.hash, this.#opened?.hash].filter((hash) => hash !== undefined);
		await run.settleData(read.length === 1 ? (read[0] as string) : sha256(read.join('\0')));
		const past = resume ? await takeUp(writer, own ? progress.step : null) : nothingBefore;
		recallAccuracy(past, progress);
		if (start !== null && !own) await adopt(writer, progress, { run: start.run.id, checkpoint: start.folder });
		const all = { ...driverVersions(), ...versions };
		await writer.updateRecord({ device, versions: all, ...(totalSteps === undefined ? {} : { totalSteps }) });
		await writer.appendEvent({ type: 'device', took: kind, tried: [], asked: recipe.device });
		// Clusters assign devices themselves.
		if (!this.#options.join && (await run.waitForDevice(kind, device))) return { do: 'stop' };
		const columns = rewards.scorers.map(({ column: { name, weight } }) => ({ name, weight }));
		await writer.updateRecord({ status: 'running', step: progress.step, rewards: columns });
		await writer.appendEvent(
			resume ? { type: 'resumed', attempt: writer.record.attempt, fromStep: progress.step } : { type: 'started' },
		);
		if (gate.stopSignal.aborted) return { do: 'stop' };
		const course = new DriverCourse({
			recipe,
			rewards,
			writer,
			gate,
			progress,
			past,
			checkpointAt: own ? progress.step : null,
			orders: this.#orders,
			environments: this.#environments,
			context,
			versions: all,
			adopted: own || start?.engine !== 'pytorch' ? null : start,
			onChanged: () => run.changed(),
		});
		this.#course = course;
		this.#policy = new TrainerPolicy(this.#orders, (task) => gate.withLearner(task));
		// When starting from another run's checkpoint, save a copy, so this run can be resumed independently.
		if (start !== null && !own) await course.checkpoint();
		return course.ending(await course.openGate(), 'steps');
	}

	/** Called when the trainer cannot continue but nothing has been lost yet. The trainer's own error message follows. */
	async #failing(): Promise<Ending> {
		try {
			await this.#course?.checkpoint();
		} catch (error) {
			this.#run.writer.log(`Cannot save a checkpoint before the run ends: ${Failure.from(error)}`);
		}
		return { do: 'stop' };
	}

	#ready(): Promise<Prepared> {
		return this.#prepared as Promise<Prepared>;
	}

	#inCourse(method: string): DriverCourse {
		if (this.#course !== null) return this.#course;
		throw contract(new Failure('invalid', `The trainer called ${method} before it was ready.`));
	}

	/** Runs a task while the trainer waits. An error ends the run. */
	#turn(task: () => Promise<Ending>): Promise<LinkResult<'step'>> {
		const question = this.#orders.open([]);
		task().then(
			(ending) => {
				this.#orders.end(ending);
				if (ending.do !== 'stop') return;
				this.#farewell = true;
				// A failing trainer reports its reason before it exits.
				if (this.#run.gate.stopRequest) this.#outcome.resolve('stopped');
			},
			(error: unknown) => {
				this.#outcome.reject(error);
				this.#orders.close(Failure.from(error));
			},
		);
		return question;
	}

	/** Releases the device and the lock after all computation has ended. */
	async halt(): Promise<void> {
		this.#requests?.dispose();
		await this.#host?.end(this.#farewell ? farewellMs : 0);
		this.#orders.close(new Failure('unavailable', 'The run has ended.'));
	}

	async dispose(): Promise<void> {
		await this.halt();
	}

	abandon(): void {
		this.#host?.kill();
	}
}
