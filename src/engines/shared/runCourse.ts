import { Failure } from '../../base/failure.ts';
import type { Metrics } from '../../core/grpo/stepMetrics.ts';
import type { ResolvedRecipe, ResolvedStage } from '../../core/recipe/resolvedRecipe.ts';
import type { AlertLevel } from '../../protocol/alert.ts';
import type { Hyperparameters } from '../../protocol/control.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';
import { pause } from '../../rpc/pause.ts';
import type { RunWriter } from '../../runs/runWriter.ts';
import type { Evaluation, EvaluationSettings } from './evaluation.ts';
import type { Progress } from './progress.ts';
import { RewardWatch } from './rewardWatch.ts';
import type { Past, RecordedChange } from './runPast.ts';
import type { RewardFailures } from './scoreBatch.ts';
import type { GateHooks, StepGate } from './stepGate.ts';
import { Stopwatch } from './stopwatch.ts';

export interface CourseOptions {
	readonly recipe: ResolvedRecipe;
	readonly rewards: RecipeScorers;
	readonly writer: RunWriter;
	readonly gate: StepGate;
	readonly progress: Progress;
	/** Records of an earlier attempt. */
	readonly past: Past;
	/** The step of the run's own checkpoint that this attempt starts from, if any. */
	readonly checkpointAt: number | null;
	/** Called when files of the run change. */
	onChanged(): void;
}

/** One completed optimizer update. */
export interface UpdateReport {
	readonly metrics: Metrics;
	/** Whether it is the last update of its batch; only there a run is evaluated, checkpointed, paused or ended. */
	readonly batchEnds: boolean;
	/** Number of updates before the batch. */
	readonly batchStart: number;
	/** Replaces held-out accuracy in stages that freeze the policy. */
	evaluate?(): Promise<Metrics>;
	/** Measured in addition to held-out accuracy. */
	also?(): Promise<Metrics>;
}

/** What the loop of a stage does next. */
export type Verdict = 'next' | 'stage-over' | 'stop';

/** Stages that evaluate at their start, unless the previous stage already did. */
const measuredBefore: readonly ResolvedStage['type'][] = ['grpo', 'ppo', 'rloo', 'dpo'];

/** Whether (before, step] contains a multiple of `every`. */
function passedMultiple(before: number, step: number, every: number): boolean {
	return Math.floor(step / every) > Math.floor(before / every);
}

/** run.json need not be rewritten at every step of a fast run, because readers have the metrics. */
const recordIntervalMs = 1000;

/** Milliseconds after recording an update until its answer is sent. */
const answerMs = 3;

/**
 * The sequence of events around updates, shared by all engines, in a fixed order so that a resume repeats it exactly.
 * Subclasses compute, measure and fill checkpoints.
 */
export abstract class RunCourse implements GateHooks {
	readonly progress: Progress;
	readonly watch = new Stopwatch();
	protected readonly options: CourseOptions;
	protected readonly rewardWatch: RewardWatch;
	/** Rollouts of the next update: being written, or yet to be written. */
	#rollouts: Promise<void> | (() => Promise<void>) = Promise.resolve();
	/** Everything of the recorded updates. */
	#booked: Promise<void> = Promise.resolve();
	#replay: readonly RecordedChange[];
	/** Why the run pauses by itself; null if it does not. */
	#hold: RunRecord['pause'] | null = null;
	#recorded = 0;
	/** The step of the latest checkpoint. */
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

	/** Accuracy of the current weights; does not affect training. */
	protected abstract evaluate(settings: EvaluationSettings): Promise<Evaluation>;
	/** Writes everything a resume needs into an empty folder, including state.json. */
	protected abstract fillCheckpoint(folder: string): Promise<void>;
	/** Called before the first update of a new stage. */
	protected abstract prepareStage(stage: ResolvedStage): void;

	/** The stage of the next update, according to the recipe. */
	protected stage(): ResolvedStage {
		return this.options.recipe.stages[this.progress.stageIndex] as ResolvedStage;
	}

	/** The same with the user's changes. */
	protected stageInForce(): ResolvedStage {
		return { ...this.stage(), ...this.progress.hyperparameters } as ResolvedStage;
	}

	/** Skips stages that have had all their updates: a checkpoint of another recipe may be beyond this one. */
	protected skipFinishedStages(): void {
		const { progress, options } = this;
		while (progress.stageIndex < options.recipe.stages.length && progress.stageStep >= this.stage().steps) {
			this.#nextStage();
		}
	}

	/**
	 * Records an update: writes metrics, then (at the end of a batch) evaluates, checkpoints and handles external
	 * requests. Computation continues while the lines of an update are flushed, at most one update ahead; a full disk is
	 * reported at the next update, and before anything that depends on it: a checkpoint, a pause, the end of a stage or
	 * run.
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
			this.#nextStage();
		}
		const due = passedMultiple(batchStart, progress.step, options.recipe.checkpoint.every);
		if (due || isBest || stageEnds !== null) await this.checkpoint();
		const verdict = await this.openGate();
		return verdict === 'next' && stageEnds !== null ? 'stage-over' : verdict;
	}

	/** Starts writing rollouts under the step that uses them first; they are recorded with it. */
	writeRollouts(step: number, lines: readonly RolloutLine[]): void {
		const written = this.options.writer.writeRollouts(step, lines);
		// Awaited with the update; a failure before that is not unhandled.
		written.catch(() => undefined);
		this.#rollouts = written;
	}

	/** The same if the computation waits for the answer to the update: the file is created after the answer is sent. */
	protected keepRollouts(step: number, file: () => Uint8Array): void {
		this.#rollouts = () => this.options.writer.writeRollouts(step, file());
	}

	#book(stage: string, values: Metrics): void {
		const rollouts = this.#rollouts;
		this.#rollouts = Promise.resolve();
		const line = this.#lineOf(stage, values);
		// Queued after its rollouts, so that they exist when a step becomes visible.
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
		// The event comes first, here and on continue: readers of the new status find it.
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
		// The weights have not changed since; replays cover changed hyperparameters.
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
		if (!stage) throw new Failure('unavailable', 'The run has no remaining stage whose hyperparameters could change.');
		for (const name of Object.keys(changes)) {
			if (name in stage) continue;
			throw new Failure('unsupported', `The running ${stage.type} stage has no hyperparameter "${name}".`);
		}
		const fromStep = this.progress.step + 1;
		await writer.appendEvent({ type: 'hyperparameters', changes, fromStep, step: this.progress.step });
		this.progress.hyperparameters = { ...this.progress.hyperparameters, ...changes };
		onChanged();
		return fromStep;
	}

	/** Pauses before a batch whose rewards failed on too many rows, until the user continues. */
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
		// An upper bound: stages that ended early through a measurement have reduced it.
		const left = recipe.stages.slice(progress.stageIndex).reduce((sum, { steps }) => sum + steps, 0);
		const totalSteps = progress.step - progress.stageStep + left;
		await writer.updateRecord({ stage: stage.type, status: 'running', step: progress.step, totalSteps });
		if (progress.stageStep === 0) {
			const { stageIndex: index, step } = progress;
			if (past.announcedStage !== index) {
				await writer.appendEvent({ type: 'stage', name: stage.type, index, step });
			}
			this.prepareStage(stage);
			if (measuredBefore.includes(stage.type)) await this.#evaluateBefore(stage);
		}
		onChanged();
	}

	async #evaluateBefore(stage: ResolvedStage): Promise<void> {
		if (this.progress.evaluatedAt === this.progress.step) return;
		const { metrics } = await this.#evaluate(this.#heldOut());
		// An earlier stage with another measure has already reported this step; the evaluation file has the rest.
		if (this.options.writer.lastMetricsStep >= this.progress.step) return;
		await this.#writeLine(stage.type, { ...metrics, ...this.watch.take() });
	}

	#nextStage(): void {
		this.progress.stageIndex++;
		this.progress.stageStep = 0;
		this.progress.hyperparameters = {};
	}

	#heldOut(): EvaluationSettings {
		const { problems, samples, temperature } = this.options.recipe.evaluate;
		return { name: 'heldout', problems, samples, temperature };
	}

	/** The stage's own measure, if any, as often as held-out accuracy; otherwise held-out accuracy. */
	async #measureIfDue(
		stage: ResolvedStage,
		stageEnds: boolean,
		batchStart: number,
		measure: UpdateReport['evaluate'],
	): Promise<{ metrics: Metrics; reached: boolean; isBest: boolean }> {
		if (measure === undefined) return this.#evaluateIfDue(stage, stageEnds, batchStart);
		const { every } = this.options.recipe.evaluate;
		const due = stageEnds || passedMultiple(batchStart, this.progress.step, every);
		return { metrics: due ? await this.watch.measure('evaluate', measure) : {}, reached: false, isBest: false };
	}

	/**
	 * Measures held-out accuracy every `evaluate.every` steps, or every `until.every` in a stage that ends by it, and at
	 * the end of a stage. A stage whose `until` has different settings than `evaluate` also has its own measure,
	 * `eval/until`.
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
			// Not awaited: it adds nothing to the metrics, which also report a full disk.
			writer.updateRecord({ step: line.step }).catch(() => undefined);
		}
		onChanged();
	}
}
