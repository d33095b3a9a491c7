import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { decodeResolvedRecipe } from '../../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { hyperparametersSchema } from '../../protocol/control.ts';
import { decode } from '../../protocol/decode.ts';
import type { EventLine } from '../../protocol/eventLine.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { ControlServer } from '../../rpc/controlServer.ts';
import { acquireDevice } from '../../runs/deviceQueue.ts';
import { openDataset } from '../../runs/openDataset.ts';
import { checkRewardCopies, hashRewards } from '../../runs/rewardCopies.ts';
import { openControl } from '../../runs/runControl.ts';
import { runFiles, stepName, stepOf } from '../../runs/runFiles.ts';
import type { RunLock } from '../../runs/runLock.ts';
import { listCheckpoints, readEvents, readMetricsEnd, readRecord, readResolvedRecipe } from '../../runs/runReader.ts';
import { RunRegistry } from '../../runs/runRegistry.ts';
import { type InitialRecord, RunWriter } from '../../runs/runWriter.ts';
import { type ProviderName, runtimeNames } from '../compute/providers.ts';
import type { Learner } from '../learner.ts';
import { readCheckpoint, type StoredCheckpoint } from './checkpointFolder.ts';
import { DiskReserve } from './diskReserve.ts';
import type { EngineArguments } from './engineArguments.ts';
import { openLabelFiles } from './heads/labelFile.ts';
import { PolicyService, policyExtensions } from './policyService.ts';
import { runControls } from './runControls.ts';
import { RunRewards } from './runRewards.ts';
import { type StartedTraining, startTraining } from './startTraining.ts';
import { StepGate } from './stepGate.ts';
import { type RecordedChange, TrainingRun } from './trainingRun.ts';
import { engineVersions } from './versions.ts';

type RunArguments = Extract<EngineArguments, { kind: 'run' }>;

export interface EngineProcess {
	/** Asks the run to end; it finishes its batch first. */
	stop(): void;
	/** The exit status: 0 finished or stopped, 2 refused or failed for a reason that the user can act on, 1 a fault. */
	readonly exit: Promise<number>;
	/** Ends the run because of an error from outside of its course. */
	crash(error: unknown): void;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Answers on their way out get so long before the endpoint closes. */
const farewellMs = 50;

/** Runs one run directory from start-up to its end. Every failure ends in run.json and as one sentence on stderr. */
export function runEngine(args: RunArguments): EngineProcess {
	const gate = new StepGate();
	const crashed = deferred<never>();
	crashed.promise.catch(() => undefined);
	return {
		stop: () => gate.stop({ checkpoint: true }),
		crash: (error) => crashed.reject(error),
		exit: new EngineRun(args, gate, crashed.promise).run(),
	};
}

class EngineRun {
	readonly #args: RunArguments;
	readonly #gate: StepGate;
	readonly #crash: Promise<never>;
	readonly #ended = deferred<void>();
	#writer: RunWriter | null = null;
	#reserve: DiskReserve | null = null;
	#server: ControlServer | null = null;
	#device: RunLock | null = null;
	#learner: Learner | null = null;
	#policy: PolicyService | null = null;
	#training: StartedTraining | null = null;
	#rewards: RunRewards | null = null;

	constructor(args: RunArguments, gate: StepGate, crash: Promise<never>) {
		this.#args = args;
		this.#gate = gate;
		this.#crash = crash;
	}

	async run(): Promise<number> {
		// Nothing else may keep the process alive while it is paused.
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

	/** Takes the lock. What the recipe lacks is said in run.json, so the record is made before it is read. */
	async #open(): Promise<RunWriter> {
		const { run, resume } = this.#args;
		const isThere = await readRecord(run).then(
			() => true,
			(error: unknown) => {
				if (error instanceof Failure && error.reason === 'missing') return false;
				throw error;
			},
		);
		this.#writer = resume && isThere ? await RunWriter.reopen(run) : await RunWriter.create(run, await this.#initial());
		this.#reserve = await DiskReserve.take(run);
		return this.#writer;
	}

	async #initial(): Promise<InitialRecord> {
		const { run, parentCheckpoint } = this.#args;
		const recipe = await readResolvedRecipe(run)
			.then(
				(value) => decodeResolvedRecipe(value, runFiles.recipe),
				() => null,
			)
			.catch(() => null);
		return {
			id: basename(run),
			name: recipe?.name ?? basename(run),
			engine: 'embedded',
			stage: null,
			totalSteps: recipe === null ? null : recipe.stages.reduce((sum, stage) => sum + stage.steps, 0),
			device: recipe?.device ?? 'auto',
			parent: parentCheckpoint === null ? null : { run: '', checkpoint: parentCheckpoint },
			seeds: recipe === null ? {} : { recipe: recipe.seed },
			versions: engineVersions(),
			hashes: { recipe: '', dataset: '', rewards: '' },
		};
	}

	async #train(writer: RunWriter): Promise<'finished' | 'stopped'> {
		const { run, resume, parentCheckpoint } = this.#args;
		const value = await readResolvedRecipe(run);
		const recipe = decodeResolvedRecipe(value, `${run}/${runFiles.recipe}`);
		const hashes = { recipe: sha256(JSON.stringify(value)), rewards: hashRewards(value) };
		this.#server = await openControl(run, writer.record.id, {
			serving: false,
			extensions: () => this.#policy?.extensions ?? policyExtensions,
			handlers: runControls({
				gate: this.#gate,
				status: () => this.#status(),
				policy: () => this.#policy,
				ended: this.#ended.promise,
			}),
		});
		const first = !resume || writer.record.hashes.recipe === '';
		if (!first) {
			this.#checkUnchanged('recipe.json', writer.record.hashes.recipe, hashes.recipe);
			this.#checkUnchanged('list of reward files', writer.record.hashes.rewards, hashes.rewards);
		}
		await checkRewardCopies(run, recipe);
		// The processes start while data, checkpoint and model are read.
		this.#rewards = new RunRewards(run, recipe, this.#gate.stopSignal);
		await new RunRegistry().add(run).catch((error: unknown) => writer.log(`registry: ${Failure.from(error).message}`));
		const dataset = await openDataset(recipe.dataset);
		const labels = await openLabelFiles(recipe);
		const data = labels.hash === null ? dataset.hash : sha256(dataset.hash + labels.hash);
		if (first) {
			await writer.updateRecord({ hashes: { ...hashes, dataset: data } });
		} else {
			this.#checkUnchanged('dataset', writer.record.hashes.dataset, data);
		}
		const own = resume ? (await listCheckpoints(run)).at(-1) : undefined;
		const folder = own?.path ?? parentCheckpoint;
		if (resume && !own && writer.record.parent !== null) {
			throw new Failure(
				'missing',
				`${run} has no complete checkpoint to resume from.`,
				`Start a new run from the checkpoint ${writer.record.parent.checkpoint} again.`,
			);
		}
		const checkpoint = folder === null ? null : await readCheckpoint(folder);
		const started = await startTraining({
			recipe: resume ? await withSettledDevice(run, recipe) : recipe,
			dataset,
			checkpoint,
			rewards: this.#rewards.loaded,
			labels,
			onLeftOut: (count, why) => {
				const rows = count === 1 ? '1 row was' : `${count} rows were`;
				void writer
					.appendEvent({ type: 'alert', level: 'warning', message: `${rows} left out so far: ${why}.` })
					.catch(() => undefined);
			},
		}).catch((error: unknown) => {
			// Loading a reward may take long: a stop does not wait for it.
			if (Failure.from(error).reason === 'cancelled' && this.#gate.stopRequest) return null;
			throw error;
		});
		if (started === null) return 'stopped';
		this.#training = started;
		const { parts, progress } = started;
		this.#learner = parts.learner;
		const past = resume ? await this.#takeUp(writer, own === undefined ? null : checkpoint) : nothingBefore;
		if (past.accuracy !== undefined && progress.evaluatedAt === null) {
			progress.evaluatedAt = progress.step;
			const { accuracy } = past;
			if (accuracy !== null && accuracy > (progress.best?.accuracy ?? Number.NEGATIVE_INFINITY)) {
				progress.best = { step: progress.step, accuracy };
			}
		}
		if (checkpoint !== null && own === undefined) await this.#adopt(writer, checkpoint);
		await this.#announceDevice(writer, recipe);
		if (await this.#waitForDevice(writer, recipe)) return 'stopped';
		this.#policy = new PolicyService(parts.learner, parts.tokenizer, (task) => this.#gate.withLearner(task));
		const columns = parts.rewards.scorers.map(({ column: { name, weight } }) => ({ name, weight }));
		await writer.updateRecord({ status: 'running', step: progress.step, rewards: columns });
		await writer.appendEvent(
			resume ? { type: 'resumed', attempt: writer.record.attempt, fromStep: progress.step } : { type: 'started' },
		);
		const training = new TrainingRun({
			parts,
			writer,
			gate: this.#gate,
			progress,
			replay: past.replay,
			announcedStage: past.announcedStage,
			checkpointAt: own?.step ?? null,
			versions: engineVersions(),
			vocabulary: started.vocabulary,
			onChanged: () => this.#server?.changed(),
		});
		// A new run from another's checkpoint owns a copy of where it began, so that it can be resumed by itself.
		if (checkpoint !== null && own === undefined) await training.checkpoint();
		return training.run();
	}

	#status(): RunRecord {
		const record = (this.#writer as RunWriter).record;
		const live = record.status === 'running' || record.status === 'paused';
		return live && this.#training ? { ...record, step: this.#training.progress.step } : record;
	}

	#checkUnchanged(what: string, before: string, now: string): void {
		if (before === now) return;
		throw new Failure(
			'mismatch',
			`The ${what} of the run ${this.#args.run} has changed since it began.`,
			'Put it back, or start a new run from a checkpoint.',
		);
	}

	/** Sets aside what an earlier attempt did after its checkpoint (null: there was none), and reads what it recorded. */
	async #takeUp(writer: RunWriter, checkpoint: StoredCheckpoint | null): Promise<Past> {
		const { run } = this.#args;
		const step = checkpoint?.state.step ?? 0;
		const damaged = await damagedCheckpoints(run);
		await writer.setAside(checkpoint === null ? -1 : step);
		if (damaged.length > 0) {
			const message = `Set aside as damaged, in superseded: ${damaged.join(', ')}.`;
			await writer.appendEvent({ type: 'alert', level: 'warning', message, step });
		}
		const events = await readEvents(run);
		const last = (await readMetricsEnd(run)).at(-1);
		const stage = events.findLast((event) => event.type === 'stage' && event.step === step);
		return {
			replay: events.flatMap(recordedChange),
			announcedStage: typeof stage?.index === 'number' ? stage.index : null,
			accuracy: last?.step === step ? last.values['eval/heldout/accuracy'] : undefined,
		};
	}

	/** A new run from another's checkpoint: says whose, and keeps its changed hyper-parameters where they are seen. */
	async #adopt(writer: RunWriter, { state, folder }: StoredCheckpoint): Promise<void> {
		const { progress } = this.#training as StartedTraining;
		progress.evaluatedAt = null;
		await writer.updateRecord({ parent: { run: state.run.id, checkpoint: folder }, step: progress.step });
		if (Object.keys(progress.hyperparameters).length > 0) {
			await writer.appendEvent({
				type: 'hyperparameters',
				changes: progress.hyperparameters,
				fromStep: progress.step + 1,
				step: progress.step,
			});
		}
	}

	async #announceDevice(writer: RunWriter, recipe: ResolvedRecipe): Promise<void> {
		const { provider, workers, tried } = (this.#learner as Learner).execution;
		await writer.updateRecord({ device: deviceInWords(provider, workers) });
		await writer.appendEvent({ type: 'device', took: provider, tried, asked: recipe.device });
	}

	/** Waits until no other run computes on the device. True: the run was told to stop before its turn came. */
	async #waitForDevice(writer: RunWriter, recipe: ResolvedRecipe): Promise<boolean> {
		const { provider, workers } = (this.#learner as Learner).execution;
		let waited = false;
		try {
			this.#device = await acquireDevice({
				device: provider,
				whenBusy: recipe.whenBusy,
				signal: this.#gate.stopSignal,
				onWait: ({ pid }) => {
					waited = true;
					const message = `Waits for ${provider}: process ${pid} computes on it.`;
					const device = `waiting for ${provider} (process ${pid})`;
					void writer.updateRecord({ status: 'running', device }).catch(() => undefined);
					void writer.appendEvent({ type: 'alert', level: 'info', message }).catch(() => undefined);
					this.#server?.changed();
				},
			});
		} catch (error) {
			if (error instanceof Failure && error.reason === 'cancelled') return true;
			throw error;
		}
		if (waited) await writer.updateRecord({ device: deviceInWords(provider, workers) });
		return false;
	}

	async #end(writer: RunWriter, status: 'finished' | 'stopped'): Promise<void> {
		const step = this.#training?.progress.step ?? writer.record.step;
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
			// Makes room for the last words on a full disk.
			await this.#reserve?.release();
			if (failure.reason === 'internal') writer.log(error instanceof Error ? `${error.stack}` : failure.message);
			const { reason, message, action } = failure.toJSON();
			const step = this.#training?.progress.step ?? writer.record.step;
			const record = {
				status: 'crashed',
				step,
				pause: undefined,
				error: { reason, message, ...(action ? { action } : {}) },
			} as const;
			// Closed with the last words in one go: training that is still under way must not write after them.
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
		if (this.#server && this.#server.clients > 0) await farewell();
		this.#server?.dispose();
		await this.#rewards?.close().catch(() => undefined);
		await this.#reserve?.release();
		await this.#device?.release().catch(() => undefined);
		await this.#writer?.close().catch(() => undefined);
		await this.#learner?.dispose().catch(() => undefined);
	}
}

/** Time is not enough: a process that did not run meanwhile has written nothing, so the event loop gets its turns, too. */
async function farewell(): Promise<void> {
	await new Promise((resolve) => setTimeout(resolve, farewellMs));
	for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

interface Past {
	readonly replay: readonly RecordedChange[];
	readonly announcedStage: number | null;
	/** Held-out accuracy in the line of the step where the attempt starts; null: measured on nothing; undefined: not measured. */
	readonly accuracy: number | null | undefined;
}

const nothingBefore: Past = { replay: [], announcedStage: null, accuracy: undefined };

/**
 * The recipe with the device that an earlier attempt took: what `auto` takes depends on a measured speed, and a resume
 * must go on with the same arithmetic.
 */
async function withSettledDevice(run: string, recipe: ResolvedRecipe): Promise<ResolvedRecipe> {
	if (recipe.device !== 'auto') return recipe;
	const took = (await readEvents(run)).findLast((event) => event.type === 'device')?.took;
	return typeof took === 'string' && Object.hasOwn(runtimeNames, took)
		? { ...recipe, device: took as ProviderName }
		: recipe;
}

/** Checkpoint folders that are not whole, by name. */
async function damagedCheckpoints(run: string): Promise<string[]> {
	const whole = new Set((await listCheckpoints(run)).map(({ step }) => stepName(step)));
	const names = await readdir(join(run, runFiles.checkpoints)).catch(() => []);
	return names.filter((name) => stepOf(name) !== null && !whole.has(name)).sort();
}

function recordedChange(event: EventLine): RecordedChange[] {
	if (event.type !== 'hyperparameters' || typeof event.fromStep !== 'number') return [];
	const changes = decode(hyperparametersSchema, event.changes);
	return changes.ok ? [{ fromStep: event.fromStep, changes: changes.value }] : [];
}

function deviceInWords(provider: string, workers: number): string {
	return provider === 'cpu' ? `cpu (${workers} ${workers === 1 ? 'worker' : 'workers'})` : provider;
}
