import { basename } from 'node:path';
import { deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { FileLock } from '../../files/fileLock.ts';
import { sha256 } from '../../files/sha256.ts';
import type { EngineName, OrderlyEnd, RunRecord } from '../../protocol/runRecord.ts';
import type { ControlHandlers, ControlServer } from '../../rpc/controlServer.ts';
import { acquireDevice } from '../../runs/deviceQueue.ts';
import { startMark } from '../../runs/foreignCode.ts';
import { checkRewardCopies, hashRewards } from '../../runs/rewardCopies.ts';
import { openControl } from '../../runs/runControl.ts';
import { hasRecord, listCheckpoints } from '../../runs/runReader.ts';
import { RunRegistry } from '../../runs/runRegistry.ts';
import { type InitialRecord, RunWriter } from '../../runs/runWriter.ts';
import { DiskReserve } from './diskReserve.ts';
import type { EngineArguments } from './engineArguments.ts';
import type { EngineProcess } from './engineProcess.ts';
import type { PolicyAnswers } from './policyAnswers.ts';
import type { Progress } from './progress.ts';
import { type RecipeOfRun, recipeOfRun } from './recipeOfRun.ts';
import { runControls } from './runControls.ts';
import { RunRewards } from './runRewards.ts';
import { StepGate } from './stepGate.ts';

export type RunArguments = Extract<EngineArguments, { kind: 'run' }>;

/** The parts that differ between engines. */
export interface EngineKind {
	readonly name: EngineName;
	/** Returns the versions that affect a run's results and are known before the run starts. */
	versions(): Record<string, string>;
	/** `policy/generate` extensions that the engine will support. Head extensions are added once the heads exist. */
	readonly extensions: readonly string[];
	readonly heads: boolean;
	open(run: OpenedRun): Training;
}

/** The compute part of an engine. */
export interface Training {
	/** null until the run's position is known. */
	readonly progress: Progress | null;
	/** null until the weights exist. */
	readonly policy: PolicyAnswers | null;
	/** Trains from start to finish. Throws on errors. */
	train(): Promise<OrderlyEnd>;
	/** Stops computation in other processes before the device and lock are released. */
	halt?(): Promise<void>;
	/** Releases all resources. */
	dispose(): Promise<void>;
	/** Immediately kills child processes that would outlive this one. */
	abandon?(): void;
}

/** Checkpoint that a run starts from. */
export interface StartPoint {
	/** Checkpoint folder. */
	readonly folder: string;
	/** Whether the checkpoint belongs to this run. */
	readonly own: boolean;
}

/** A run that holds its lock, has verified its recipe and reward copies, and is answering control requests. */
export interface OpenedRun {
	readonly folder: string;
	readonly resume: boolean;
	readonly recipe: ResolvedRecipe;
	/** The contents of recipe.json. */
	readonly recipeValue: unknown;
	readonly writer: RunWriter;
	readonly gate: StepGate;
	/** Client request handlers, for connections other than the control endpoint. */
	readonly controls: ControlHandlers;
	/** The run's rewards. Their processes start while data, checkpoint and model are being read. */
	readonly rewards: RunRewards;
	/** Records the data hash, or compares it with the recorded hash. */
	settleData(hash: string): Promise<void>;
	/**
	 * Returns the run's newest checkpoint when resuming, the parent checkpoint when branching, or null to start from the
	 * recipe.
	 */
	startPoint(): Promise<StartPoint | null>;
	/** Waits until no other run is using the device. Returns true if the run was stopped while waiting. */
	waitForDevice(device: string, inWords: string): Promise<boolean>;
	/** Notifies clients that the run's files have changed. */
	changed(): void;
}

/**
 * Executes the run in a run directory from start to finish. Records every failure in run.json and prints it to stderr
 * as a single sentence.
 */
export function runWith(kind: EngineKind, args: RunArguments): EngineProcess {
	const gate = new StepGate();
	const crashed = deferred<never>();
	crashed.promise.catch(() => undefined);
	const run = new EngineRun(kind, args, gate, crashed.promise);
	return {
		stop: () => gate.stop({ checkpoint: true }),
		crash: (error) => crashed.reject(error),
		abandon: () => run.abandon(),
		exit: run.run(),
	};
}

class EngineRun {
	readonly #kind: EngineKind;
	readonly #args: RunArguments;
	readonly #recipe: () => Promise<RecipeOfRun>;
	readonly #gate: StepGate;
	readonly #crash: Promise<never>;
	readonly #ended = deferred<void>();
	#writer: RunWriter | null = null;
	#reserve: DiskReserve | null = null;
	#server: ControlServer | null = null;
	#device: FileLock | null = null;
	#training: Training | null = null;
	#rewards: RunRewards | null = null;
	/** Whether a resume was requested and there is something to resume. */
	#resume = false;

	constructor(kind: EngineKind, args: RunArguments, gate: StepGate, crash: Promise<never>) {
		this.#kind = kind;
		this.#args = args;
		this.#recipe = recipeOfRun(args.run);
		this.#gate = gate;
		this.#crash = crash;
	}

	abandon(): void {
		this.#training?.abandon?.();
	}

	async run(): Promise<number> {
		// Keep the process alive while the run is paused.
		const alive = setInterval(() => undefined, 1 << 30);
		try {
			const writer = await this.#open();
			const outcome = await Promise.race([this.#train(writer), this.#crash]);
			await this.#end(writer, outcome);
			return 0;
		} catch (error) {
			return await this.#fail(error);
		} finally {
			await this.#release();
			clearInterval(alive);
		}
	}

	/**
	 * Acquires the lock. Creates the record before reading the recipe, because recipe errors are recorded in run.json.
	 */
	async #open(): Promise<RunWriter> {
		const { run, resume } = this.#args;
		const isThere = await hasRecord(run);
		this.#resume = resume && isThere;
		this.#writer = this.#resume ? await RunWriter.reopen(run) : await RunWriter.create(run, await this.#initial());
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
			engine: this.#kind.name,
			stage: null,
			totalSteps: recipe === null ? null : recipe.stages.reduce((sum, stage) => sum + stage.steps, 0),
			device: recipe?.device ?? 'auto',
			parent: parentCheckpoint === null ? null : { run: '', checkpoint: parentCheckpoint },
			seeds: recipe === null ? {} : { recipe: recipe.seed },
			versions: this.#kind.versions(),
			hashes: { recipe: '', dataset: '', rewards: '' },
		};
	}

	async #train(writer: RunWriter): Promise<OrderlyEnd> {
		const { run } = this.#args;
		const resume = this.#resume;
		const { value, recipe } = await this.#recipe();
		const hashes = { recipe: sha256(JSON.stringify(value)), rewards: hashRewards(value) };
		const controls = runControls({
			gate: this.#gate,
			status: () => this.#status(),
			policy: () => this.#training?.policy ?? null,
			heads: this.#kind.heads,
			ended: this.#ended.promise,
		});
		this.#server = await openControl(run, writer.record.id, {
			serving: false,
			extensions: () => this.#training?.policy?.extensions ?? this.#kind.extensions,
			handlers: controls,
		});
		const first = !resume || writer.record.hashes.recipe === '';
		if (!first) {
			this.#checkUnchanged('recipe.json', writer.record.hashes.recipe, hashes.recipe);
			this.#checkUnchanged('list of reward files', writer.record.hashes.rewards, hashes.rewards);
		}
		await checkRewardCopies(run, recipe);
		this.#rewards = new RunRewards(run, recipe, this.#gate.stopSignal);
		await new RunRegistry()
			.add(run, undefined, startMark(value))
			.catch((error: unknown) => writer.log(`registry: ${Failure.from(error).message}`));
		this.#training = this.#kind.open({
			folder: run,
			resume,
			recipe,
			recipeValue: value,
			writer,
			gate: this.#gate,
			controls,
			rewards: this.#rewards,
			settleData: async (dataset) => {
				if (first) await writer.updateRecord({ hashes: { ...hashes, dataset } });
				else this.#checkUnchanged('dataset', writer.record.hashes.dataset, dataset);
			},
			startPoint: () => this.#startPoint(writer),
			waitForDevice: (device, inWords) => this.#waitForDevice(writer, recipe, device, inWords),
			changed: () => this.#server?.changed(),
		});
		return await this.#training.train();
	}

	#status(): RunRecord {
		const record = (this.#writer as RunWriter).record;
		const live = record.status === 'running' || record.status === 'paused';
		const progress = this.#training?.progress;
		return live && progress ? { ...record, step: progress.step } : record;
	}

	#checkUnchanged(what: string, before: string, now: string): void {
		if (before === now) return;
		throw new Failure(
			'mismatch',
			`The ${what} for run ${this.#args.run} has changed since the run started.`,
			'Restore it, or start a new run from a checkpoint.',
		);
	}

	async #startPoint(writer: RunWriter): Promise<StartPoint | null> {
		const { run, parentCheckpoint } = this.#args;
		const resume = this.#resume;
		const own = resume ? (await listCheckpoints(run)).at(-1) : undefined;
		if (own !== undefined) return { folder: own.path, own: true };
		if (resume && writer.record.parent !== null) {
			throw new Failure(
				'missing',
				`${run} has no complete checkpoint to resume from.`,
				`Start another run from checkpoint ${writer.record.parent.checkpoint}.`,
			);
		}
		return parentCheckpoint === null ? null : { folder: parentCheckpoint, own: false };
	}

	async #waitForDevice(writer: RunWriter, recipe: ResolvedRecipe, device: string, inWords: string): Promise<boolean> {
		let waited = false;
		try {
			this.#device = await acquireDevice({
				device,
				whenBusy: recipe.whenBusy,
				signal: this.#gate.stopSignal,
				...(this.#args.deviceGroup && { group: this.#args.deviceGroup }),
				onWait: ({ pid }) => {
					waited = true;
					const message = `Waiting for ${device}, which is in use by process ${pid}.`;
					const waiting = `waiting for ${device} (process ${pid})`;
					void writer.updateRecord({ status: 'running', device: waiting, wait: 'device' }).catch(() => undefined);
					void writer.appendEvent({ type: 'alert', level: 'info', message }).catch(() => undefined);
					this.#server?.changed();
				},
			});
		} catch (error) {
			if (error instanceof Failure && error.reason === 'cancelled') return true;
			throw error;
		}
		if (waited) await writer.updateRecord({ device: inWords, wait: undefined });
		return false;
	}

	async #end(writer: RunWriter, status: OrderlyEnd): Promise<void> {
		const step = this.#training?.progress?.step ?? writer.record.step;
		// Remove the reserve before the final record: an ended run is not resumed, so nothing else would clean it up.
		await this.#reserve?.release();
		await writer.appendEvent({ type: status, step });
		await writer.updateRecord({ status, step, pause: undefined });
		this.#gate.close(new Failure('unavailable', `The run has ${status === 'finished' ? 'finished' : 'been stopped'}.`));
	}

	async #fail(error: unknown): Promise<number> {
		const failure = Failure.from(error);
		const writer = this.#writer;
		process.stderr.write(`${failure.toString()}\n`);
		this.#gate.close(new Failure('unavailable', `The run has ended: ${failure.message}`));
		if (writer) {
			// Free disk space for the final record in case the disk is full.
			await this.#reserve?.release();
			if (failure.reason === 'internal') writer.log(error instanceof Error ? `${error.stack}` : failure.message);
			const { reason, message, action } = failure.toJSON();
			const step = this.#training?.progress?.step ?? writer.record.step;
			const record = {
				status: 'crashed',
				step,
				pause: undefined,
				error: { reason, message, ...(action ? { action } : {}) },
			} as const;
			// Close these together with the final record, because training still in progress must not write after it.
			await Promise.allSettled([
				writer.updateRecord(record),
				writer.appendEvent({ type: 'crashed', reason, message, step }),
				writer.close(),
			]);
		}
		return failure.reason === 'internal' ? 1 : 2;
	}

	async #release(): Promise<void> {
		this.#ended.resolve();
		this.#server?.changed();
		await this.#server?.close();
		await this.#rewards?.close().catch(() => undefined);
		await this.#training?.halt?.().catch(() => undefined);
		await this.#reserve?.release();
		await this.#device?.release().catch(() => undefined);
		await this.#writer?.close().catch(() => undefined);
		await this.#training?.dispose().catch(() => undefined);
	}
}
