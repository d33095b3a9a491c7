import { Failure } from '../../base/failure.ts';
import type { Metrics } from '../../core/grpo/stepMetrics.ts';
import { faultOfChange } from '../../core/recipe/checkEngine.ts';
import { stageSchemaOf } from '../../core/recipe/filledStage.ts';
import type { ResolvedStage } from '../../core/recipe/resolvedRecipe.ts';
import type { AlertLevel } from '../../protocol/alert.ts';
import type { Hyperparameters } from '../../protocol/control.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import { pause } from '../../rpc/pause.ts';
import type { CourseOptions, UpdateReport } from './courseOptions.ts';
import type { Evaluation, EvaluationSettings } from './evaluation.ts';
import { type Progress, startNextStage } from './progress.ts';
import { RewardWatch } from './rewardWatch.ts';
import type { RecordedChange } from './runPast.ts';
import type { RewardFailures } from './scoreBatch.ts';
import type { GateHooks } from './stepGate.ts';
import { Stopwatch } from './stopwatch.ts';

/** Tells a stage's loop how to proceed. */
export type Verdict = 'next' | 'stage-over' | 'stop';

/** Types of stages that evaluate before their first update, unless the previous stage already did. */
const measuredBefore: readonly ResolvedStage['type'][] = ['grpo', 'ppo', 'rloo', 'dpo'];

/** Returns whether (before, step] contains a multiple of `every`. */
function passedMultiple(before: number, step: number, every: number): boolean {
	return Math.floor(step / every) > Math.floor(before / every);
}

/**
 * Minimum time between run.json updates. Fast runs need not update it at every step because readers have the metrics.
 */
const recordIntervalMs = 1000;

/** Delay before writing rollouts, in milliseconds, so that the reply to the update is sent first. */
const answerMs = 3;

/**
 * Sequence of events around updates, shared by all engines. The order is fixed so that a resumed run repeats it
 * exactly. Subclasses implement computation, evaluation and writing checkpoint contents.
 */
export abstract class RunCourse implements GateHooks {
	readonly progress: Progress;
	readonly watch = new Stopwatch();
	protected readonly options: CourseOptions;
	protected readonly rewardWatch: RewardWatch;
	/** Rollouts for the next update: a write in progress, or a function that starts it. */
	#rollouts: Promise<void> | (() => Promise<void>) = Promise.resolve();
	/** Resolves when all recorded updates have been written. */
	#booked: Promise<void> = Promise.resolve();
	#replay: readonly RecordedChange[];
	/** Reason for a pause that the run itself initiates, or null if there is none. */
	#hold: RunRecord['pause'] | null = null;
	#recorded = 0;
	/** Step of the latest checkpoint. */
	#checkpointAt: number | null;
	/** Accuracy of the last held-out evaluation in this process. */
	#accuracy: number | null = null;

	constructor(options: CourseOptions) {
		this.options = options;
		this.progress = options.progress;
		this.rewardWatch = new RewardWatch(options.recipe, options.writer, () => options.progress.step);
		this.#replay = options.past.replay.filter((change) => change.fromStep > options.progress.step);
		this.#checkpointAt = options.checkpointAt;
	}

	/** Measures accuracy without affecting training. Can reject with `cancelled` if the run must stop. */
	protected abstract evaluate(settings: EvaluationSettings): Promise<Evaluation>;
	/** Writes everything needed to resume, including state.json, to an empty folder. */
	protected abstract fillCheckpoint(folder: string): Promise<void>;
	/** Called before the first update of a new stage. */
	protected abstract prepareStage(stage: ResolvedStage): Promise<void>;

	/** Returns the stage of the next update as specified in the recipe. */
	protected stage(): ResolvedStage {
		return this.options.recipe.stages[this.progress.stageIndex] as ResolvedStage;
	}

	/** Returns the stage of the next update with the user's hyperparameter changes applied. */
	protected stageInForce(): ResolvedStage {
		return { ...this.stage(), ...this.progress.hyperparameters } as ResolvedStage;
	}

	/**
	 * Skips stages that have completed all their updates. A checkpoint from another recipe can be past the end of the
	 * current stage.
	 */
	protected skipFinishedStages(): void {
		const { progress, options } = this;
		while (progress.stageIndex < options.recipe.stages.length && progress.stageStep >= this.stage().steps) {
			startNextStage(this.progress);
		}
	}

	/**
	 * Records an update. Writes metrics, then, at the end of a batch, evaluates, checkpoints and handles external
	 * requests. Computation can run one update ahead while the lines of an update are being flushed. A full disk is
	 * therefore reported at the next update, and before any step that depends on it: a checkpoint, a pause, or the end of
	 * a stage or run.
	 */
	async endUpdate({ metrics, batchEnds, batchStart, evaluate: measure, also }: UpdateReport): Promise<Verdict> {
		const { progress, watch, options } = this;
		const stage = this.stage();
		await this.#booked;
		progress.step++;
		progress.stageStep++;
		const line: Metrics = { ...metrics, ...watch.take() };
		let stageEnds: string | null = null;
		let isBest = false;
		if (batchEnds) {
			stageEnds = progress.stageStep >= stage.steps ? 'steps' : null;
			const outcome = await this.#measureIfDue(stage, stageEnds !== null, batchStart, measure);
			if (outcome.reached) stageEnds ??= 'until';
			isBest = outcome.isBest;
			const measured = also !== undefined && progress.evaluatedAt === progress.step;
			const beside = measured ? await watch.measure('evaluate', also) : {};
			Object.assign(line, outcome.metrics, beside, watch.take());
		}
		this.#book(stage.type, line);
		if (!batchEnds) {
			await options.gate.betweenUpdates();
			return 'next';
		}
		const finished = stage.type;
		if (stageEnds !== null) {
			await this.#booked;
			await options.writer.appendEvent({
				type: 'stage-ended',
				name: finished,
				because: stageEnds,
				step: progress.step,
			});
			startNextStage(this.progress);
		}
		const due = passedMultiple(batchStart, progress.step, options.recipe.checkpoint.every);
		if (due || isBest || stageEnds !== null) await this.checkpoint();
		const verdict = await this.openGate();
		return verdict === 'next' && stageEnds !== null ? 'stage-over' : verdict;
	}

	/** Starts writing rollouts under the first step that uses them. They are recorded together with that step. */
	writeRollouts(step: number, lines: readonly RolloutLine[]): void {
		const written = this.options.writer.writeRollouts(step, lines);
		// The promise is awaited with the update. Until then, a rejection must not count as unhandled.
		written.catch(() => undefined);
		this.#rollouts = written;
	}

	/**
	 * Like `writeRollouts`, but builds the file after the update has been answered, if computation waits for that answer.
	 * @param before starts writing what the rollouts refer to
	 */
	protected keepRollouts(step: number, file: () => Uint8Array, before: () => Promise<void>): void {
		this.#rollouts = async () => {
			const content = file();
			// The writer keeps the order of these calls, and of the line that is appended next.
			await Promise.all([before(), this.options.writer.writeRollouts(step, content)]);
		};
	}

	#book(stage: string, values: Metrics): void {
		const rollouts = this.#rollouts;
		this.#rollouts = Promise.resolve();
		const line = this.#lineOf(stage, values);
		// Write the line together with its rollouts, so they exist by the time the step becomes visible.
		const both = (started: Promise<void>) => Promise.all([started, this.#appendLine(line)]);
		const booked = typeof rollouts === 'function' ? pause(answerMs).then(() => both(rollouts())) : both(rollouts);
		this.#booked = booked.then(() => undefined);
		this.#booked.catch(() => undefined);
	}

	alert(level: AlertLevel, message: string): void {
		const { writer } = this.options;
		writer.log(`${level}: ${message}`);
		void writer.appendEvent({ type: 'alert', level, message, step: this.progress.step }).catch(() => undefined);
	}

	async paused(): Promise<void> {
		await this.#booked;
		const { writer, onChanged } = this.options;
		const hold = this.#hold;
		const { step } = this.progress;
		// Append the event before updating the record, here and when continuing, so readers who see the new status find the
		// event too.
		await writer.appendEvent({ type: 'paused', ...(hold === null ? {} : { because: 'rewards' }), step });
		await writer.updateRecord({ status: 'paused', step, ...(hold === null ? {} : { pause: hold }) });
		onChanged();
	}

	async continued(): Promise<void> {
		const { writer, onChanged } = this.options;
		await writer.appendEvent({ type: 'continued', step: this.progress.step });
		await writer.updateRecord({ status: 'running', pause: undefined });
		onChanged();
	}

	async checkpoint(): Promise<string> {
		await this.#booked;
		const { progress } = this;
		const { writer, recipe, onChanged } = this.options;
		// The weights have not changed since this checkpoint. Changed hyperparameters are restored from the event log.
		if (this.#checkpointAt === progress.step) {
			const last = (await writer.listCheckpoints()).find(({ step }) => step === progress.step);
			if (last) return last.path;
		}
		const info = await this.watch.measure('checkpoint', async () => {
			await this.fillCheckpoint(await writer.beginCheckpoint(progress.step));
			const score = progress.evaluatedAt === progress.step ? this.#accuracy : null;
			const written = await writer.commitCheckpoint(progress.step, { score });
			await writer.pruneCheckpoints(recipe.checkpoint.keep);
			return written;
		});
		this.#checkpointAt = progress.step;
		await writer.appendEvent({
			type: 'checkpoint',
			path: `checkpoints/${info.path.split(/[\\/]/).at(-1)}`,
			best: info.best,
			step: progress.step,
		});
		onChanged();
		return info.path;
	}

	async setHyperparameters(changes: Hyperparameters): Promise<number> {
		const { recipe, writer, onChanged } = this.options;
		const stage = recipe.stages[this.progress.stageIndex];
		if (!stage)
			throw new Failure('unavailable', 'The run has no remaining stages, so there are no hyperparameters to change.');
		for (const name of Object.keys(changes)) {
			if (name in stage) continue;
			throw new Failure('unsupported', `The current ${stage.type} stage has no hyperparameter "${name}".`);
		}
		const engine = recipe.engine === 'embedded' ? 'embedded' : 'pytorch';
		const fault = faultOfChange(
			stageSchemaOf(stage.type)?.keys ?? {},
			{ ...stage, ...this.progress.hyperparameters },
			changes,
			engine,
		);
		if (fault !== undefined) throw new Failure('invalid', fault);
		const fromStep = this.progress.step + 1;
		await writer.appendEvent({ type: 'hyperparameters', changes, fromStep, step: this.progress.step });
		this.progress.hyperparameters = { ...this.progress.hyperparameters, ...changes };
		onChanged();
		return fromStep;
	}

	/** Holds a batch whose rewards failed on too many rows: pauses before it until the user continues. */
	async holdBatch(failures: RewardFailures): Promise<Verdict> {
		this.#hold = this.rewardWatch.hold(failures);
		this.options.gate.hold();
		try {
			return await this.openGate();
		} finally {
			this.#hold = null;
			this.options.rewards.reload();
		}
	}

	/** Handles requests between batches. */
	async openGate(): Promise<Verdict> {
		const isDue = (change: RecordedChange) => change.fromStep <= this.progress.step + 1;
		for (const { changes } of this.#replay.filter(isDue)) {
			this.progress.hyperparameters = { ...this.progress.hyperparameters, ...changes };
		}
		this.#replay = this.#replay.filter((change) => !isDue(change));
		if ((await this.options.gate.betweenBatches(this)) !== 'stop') return 'next';
		await this.#booked;
		return 'stop';
	}

	protected async beginStage(stage: ResolvedStage): Promise<void> {
		const { progress } = this;
		const { recipe, writer, past, onChanged } = this.options;
		// This is an upper bound. It shrinks when a stage ends early because a measurement met its target.
		const left = recipe.stages.slice(progress.stageIndex).reduce((sum, { steps }) => sum + steps, 0);
		const totalSteps = progress.step - progress.stageStep + left;
		await writer.updateRecord({ stage: stage.type, status: 'running', step: progress.step, totalSteps });
		if (progress.stageStep === 0) {
			const { stageIndex: index, step } = progress;
			if (past.announcedStage !== index) {
				await writer.appendEvent({ type: 'stage', name: stage.type, index, step });
			}
			await this.prepareStage(stage);
			if (measuredBefore.includes(stage.type)) await this.#evaluateBefore(stage);
		}
		onChanged();
	}

	async #evaluateBefore(stage: ResolvedStage): Promise<void> {
		if (this.progress.evaluatedAt === this.progress.step) return;
		const measured = await this.#unlessStopped(() => this.#evaluate(this.#heldOut()));
		// An earlier stage with its own metrics has already reported this step. The evaluation file contains the rest.
		if (measured === null || this.options.writer.lastMetricsStep >= this.progress.step) return;
		await this.#writeLine(stage.type, { ...measured.metrics, ...this.watch.take() });
	}

	/** Returns the measurement, or null if the run had to stop before it was complete. */
	async #unlessStopped<T>(measure: () => Promise<T>): Promise<T | null> {
		try {
			return await measure();
		} catch (error) {
			if (Failure.from(error).reason !== 'cancelled' || !this.options.gate.interruptSignal.aborted) throw error;
			this.alert('warning', 'The evaluation was abandoned because the run was stopped.');
			return null;
		}
	}

	#heldOut(): EvaluationSettings {
		const { problems, samples, temperature } = this.options.recipe.evaluate;
		return { name: 'heldout', problems, samples, temperature };
	}

	/**
	 * Measures the stage's own metrics, if it has any, at the usual evaluation interval. Otherwise measures held-out
	 * accuracy.
	 */
	async #measureIfDue(
		stage: ResolvedStage,
		stageEnds: boolean,
		batchStart: number,
		measure: UpdateReport['evaluate'],
	): Promise<{ metrics: Metrics; reached: boolean; isBest: boolean }> {
		if (measure === undefined) {
			const measured = await this.#unlessStopped(() => this.#evaluateIfDue(stage, stageEnds, batchStart));
			return measured ?? { metrics: {}, reached: false, isBest: false };
		}
		const { every } = this.options.recipe.evaluate;
		const due = stageEnds || passedMultiple(batchStart, this.progress.step, every);
		return { metrics: due ? await this.watch.measure('evaluate', measure) : {}, reached: false, isBest: false };
	}

	/**
	 * Measures held-out accuracy every `evaluate.every` steps (or every `until.every` steps in a stage with `until`) and
	 * at the end of a stage. If a stage's `until` uses different settings than `evaluate`, also measures `eval/until`.
	 */
	async #evaluateIfDue(
		stage: ResolvedStage,
		stageEnds: boolean,
		batchStart: number,
	): Promise<{ metrics: Metrics; reached: boolean; isBest: boolean }> {
		const { progress } = this;
		const passed = (every: number) => passedMultiple(batchStart, progress.step, every);
		const heldOut = this.#heldOut();
		const metrics: Metrics = {};
		let reached = false;
		let isBest = false;
		const measureHeldOut = async () => {
			const result = await this.#evaluate(heldOut);
			Object.assign(metrics, result.metrics);
			isBest = result.isBest;
			return result.accuracy;
		};
		const { until } = stage;
		if (until && (stageEnds || passed(until.every))) {
			const same = until.problems === heldOut.problems && heldOut.samples === 1 && heldOut.temperature === 1;
			if (same) {
				reached = (await measureHeldOut()) >= until.heldOutAccuracy;
			} else {
				const own = await this.#evaluate({ name: 'until', problems: until.problems, samples: 1, temperature: 1 });
				Object.assign(metrics, own.metrics);
				reached = own.accuracy >= until.heldOutAccuracy;
			}
		}
		const due = stageEnds || reached || (!until && passed(this.options.recipe.evaluate.every));
		if (due && progress.evaluatedAt !== progress.step) await measureHeldOut();
		return { metrics, reached, isBest };
	}

	async #evaluate(settings: EvaluationSettings): Promise<{ metrics: Metrics; accuracy: number; isBest: boolean }> {
		const { progress } = this;
		const { summary, lines } = await this.watch.measure('evaluate', () => this.evaluate(settings));
		await this.options.writer.writeEvaluation(progress.step, settings.name, lines, summary);
		const { accuracy, low, high } = summary;
		let isBest = false;
		if (settings.name === 'heldout') {
			progress.evaluatedAt = progress.step;
			this.#accuracy = accuracy;
			isBest = accuracy > (progress.best?.accuracy ?? Number.NEGATIVE_INFINITY);
			if (isBest) progress.best = { step: progress.step, accuracy };
		}
		const prefix = `eval/${settings.name}/accuracy`;
		return { metrics: { [prefix]: accuracy, [`${prefix}_low`]: low, [`${prefix}_high`]: high }, accuracy, isBest };
	}

	#lineOf(stage: string, values: Metrics): MetricsLine {
		return { step: this.progress.step, time: Date.now() / 1000, stage, values };
	}

	#writeLine(stage: string, values: Metrics): Promise<void> {
		return this.#appendLine(this.#lineOf(stage, values));
	}

	async #appendLine(line: MetricsLine): Promise<void> {
		const { writer, onChanged } = this.options;
		await writer.appendMetrics(line);
		const now = performance.now();
		if (now - this.#recorded >= recordIntervalMs) {
			this.#recorded = now;
			// Not awaited, because the record adds nothing to the metrics, and writing the metrics also reports a full disk.
			writer.updateRecord({ step: line.step }).catch(() => undefined);
		}
		onChanged();
	}
}
