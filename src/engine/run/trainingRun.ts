import { Failure } from '../../base/failure.ts';
import type { Metrics } from '../../core/grpo/stepMetrics.ts';
import type {
	ResolvedGrpoStage,
	ResolvedHeadStage,
	ResolvedSftStage,
	ResolvedStage,
} from '../../core/recipe/resolvedRecipe.ts';
import type { Hyperparameters } from '../../protocol/control.ts';
import { headOfStage } from '../../protocol/recipe.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { RunWriter } from '../../runs/runWriter.ts';
import { type HeadContents, writeCheckpointFiles } from './checkpointFolder.ts';
import { type Evaluation, type EvaluationSettings, evaluate } from './evaluator.ts';
import { runGrpoStage } from './grpoStage.ts';
import { runHeadStage } from './heads/headStage.ts';
import { explainHold } from './holdExplanation.ts';
import type { Progress } from './progress.ts';
import { describeFailures, type RewardFailures } from './scoreBatch.ts';
import { runSftStage } from './sftStage.ts';
import type { StageHost, TrainingParts, UpdateReport, Verdict } from './stageHost.ts';
import type { GateHooks, StepGate } from './stepGate.ts';
import { Stopwatch } from './stopwatch.ts';

/** A change of hyper-parameters that an earlier attempt recorded. */
export interface RecordedChange {
	readonly fromStep: number;
	readonly changes: Hyperparameters;
}

export interface TrainingRunOptions {
	readonly parts: TrainingParts;
	readonly writer: RunWriter;
	readonly gate: StepGate;
	readonly progress: Progress;
	/** Changes that an earlier attempt recorded and that this one repeats at their steps. */
	readonly replay: readonly RecordedChange[];
	/** The stage that events.jsonl already says was begun at the step where this attempt starts. */
	readonly announcedStage: number | null;
	/** The step that the run directory has a checkpoint of, if this attempt starts from it. */
	readonly checkpointAt: number | null;
	readonly versions: Readonly<Record<string, string>>;
	readonly vocabulary: string;
	/** The files of the run have news. */
	onChanged(): void;
}

/** Whether a multiple of `every` lies in (before, step]. */
function passedMultiple(before: number, step: number, every: number): boolean {
	return Math.floor(step / every) > Math.floor(before / every);
}

/** run.json need not be rewritten at every step of a fast run: a reader has the metrics. */
const recordIntervalMs = 1000;

/** Carries a run through its stages: what happens around the updates, in one order, so that a resume repeats it exactly. */
export class TrainingRun implements StageHost, GateHooks {
	readonly parts: TrainingParts;
	readonly progress: Progress;
	readonly watch = new Stopwatch();
	readonly #options: TrainingRunOptions;
	readonly #writer: RunWriter;
	readonly #gate: StepGate;
	#rollouts: Promise<void> = Promise.resolve();
	#replay: RecordedChange[];
	/** By reward: how many batches it has failed in, without stopping the run. */
	readonly #failing = new Map<string, number>();
	/** Characters of output of rewards that still go to the log. */
	#outputRoom = 1 << 20;
	/** Why the run pauses by itself; null: it does not. */
	#hold: RunRecord['pause'] | null = null;
	#recorded = 0;
	/** The step whose checkpoint is there. */
	#checkpointAt: number | null;
	/** Of the last held-out evaluation of this process. */
	#accuracy: number | null = null;

	constructor(options: TrainingRunOptions) {
		this.#options = options;
		this.parts = options.parts;
		this.progress = options.progress;
		this.#writer = options.writer;
		this.#gate = options.gate;
		this.#replay = options.replay.filter((change) => change.fromStep > options.progress.step);
		this.#checkpointAt = options.checkpointAt;
	}

	/** Trains to the end of the recipe, or until the run is told to stop. Throws what goes wrong. */
	async run(): Promise<'finished' | 'stopped'> {
		const { progress } = this;
		const { stages } = this.parts.recipe;
		let verdict = await this.openGate();
		while (verdict !== 'stop' && progress.stageIndex < stages.length) {
			const stage = this.#stage();
			// A checkpoint of another recipe may lie beyond this one's steps.
			if (progress.stageStep >= stage.steps) {
				this.#nextStage();
				continue;
			}
			await this.#beginStage(stage);
			verdict = await this.#runStage(stage);
		}
		if (verdict === 'stop' && progress.stageIndex < stages.length) {
			if (this.#gate.stopRequest?.checkpoint) await this.checkpoint();
			return 'stopped';
		}
		return 'finished';
	}

	#runStage({ type }: ResolvedStage): Promise<Verdict> {
		switch (type) {
			case 'sft':
				return runSftStage(this, () => this.#stageInForce() as ResolvedSftStage);
			case 'grpo':
				return runGrpoStage(this, () => this.#stageInForce() as ResolvedGrpoStage);
			case 'value-model':
			case 'process-reward-model': {
				const labels = this.parts.labels.get(this.progress.stageIndex) ?? null;
				return runHeadStage(this, () => this.#stageInForce() as ResolvedHeadStage, labels);
			}
		}
	}

	async endUpdate({ metrics, batchEnds, batchStart, evaluate: measure }: UpdateReport): Promise<Verdict> {
		const { progress, watch, parts } = this;
		const stage = this.#stage();
		progress.step++;
		progress.stageStep++;
		await this.#rollouts;
		const line: Metrics = { ...metrics, ...watch.take() };
		let stageEnds: string | null = null;
		let isBest = false;
		if (batchEnds) {
			stageEnds = progress.stageStep >= stage.steps ? 'steps' : null;
			const outcome = await this.#measureIfDue(stage, stageEnds !== null, batchStart, measure);
			if (outcome.reached) stageEnds ??= 'until';
			isBest = outcome.isBest;
			Object.assign(line, outcome.metrics, watch.take());
		}
		await this.#writeLine(stage.type, line);
		if (!batchEnds) {
			await this.#gate.betweenUpdates();
			return 'next';
		}
		const finished = stage.type;
		if (stageEnds !== null) {
			await this.#writer.appendEvent({ type: 'stage-ended', name: finished, because: stageEnds, step: progress.step });
			this.#nextStage();
		}
		const due = passedMultiple(batchStart, progress.step, parts.recipe.checkpoint.every);
		if (due || isBest || stageEnds !== null) await this.checkpoint();
		const verdict = await this.openGate();
		return verdict === 'next' && stageEnds !== null ? 'stage-over' : verdict;
	}

	writeRollouts(step: number, lines: readonly RolloutLine[]): void {
		this.#rollouts = this.#writer.writeRollouts(step, lines);
		// Awaited at the end of the update; until then a failure is not unhandled.
		this.#rollouts.catch(() => undefined);
	}

	alert(level: 'info' | 'warning' | 'error', message: string): void {
		this.#writer.log(`${level}: ${message}`);
		void this.#writer.appendEvent({ type: 'alert', level, message, step: this.progress.step }).catch(() => undefined);
	}

	async paused(): Promise<void> {
		const hold = this.#hold;
		await this.#writer.updateRecord({
			status: 'paused',
			step: this.progress.step,
			...(hold === null ? {} : { pause: hold }),
		});
		const because = hold === null ? {} : { because: 'rewards' };
		await this.#writer.appendEvent({ type: 'paused', ...because, step: this.progress.step });
		this.#options.onChanged();
	}

	async continued(): Promise<void> {
		await this.#writer.updateRecord({ status: 'running', pause: undefined });
		await this.#writer.appendEvent({ type: 'continued', step: this.progress.step });
		this.#options.onChanged();
	}

	async checkpoint(): Promise<string> {
		const { progress, parts } = this;
		// The weights have not changed since: replays take care of changed hyper-parameters.
		if (this.#checkpointAt === progress.step) {
			const last = (await this.#writer.listCheckpoints()).find(({ step }) => step === progress.step);
			if (last) return last.path;
		}
		const info = await this.watch.measure('checkpoint', async () => {
			const folder = await this.#writer.beginCheckpoint(progress.step);
			const learner = parts.learner.state();
			await writeCheckpointFiles(folder, parts.learner.parameters, {
				state: {
					run: { id: this.#writer.record.id, name: this.#writer.record.name },
					step: progress.step,
					stage: { index: progress.stageIndex, step: progress.stageStep },
					updates: learner.updates,
					tokens: progress.tokens,
					random: { seed: parts.recipe.seed, problems: parts.feed.cursor, generations: progress.generations },
					hyperparameters: progress.hyperparameters,
					best: progress.best,
					evaluatedAt: progress.evaluatedAt,
					shape: parts.learner.shape,
					vocabulary: this.#options.vocabulary,
					versions: this.#options.versions,
				},
				learner,
				reference: parts.learner.referenceParameters(),
				heads: this.#headContents(),
				tokenizer: parts.tokenizer.toTokenizerJson(),
			});
			const score = progress.evaluatedAt === progress.step ? this.#accuracy : null;
			const written = await this.#writer.commitCheckpoint(progress.step, { score });
			await this.#writer.pruneCheckpoints(parts.recipe.checkpoint.keep);
			return written;
		});
		this.#checkpointAt = progress.step;
		await this.#writer.appendEvent({
			type: 'checkpoint',
			path: `checkpoints/${info.path.split(/[\\/]/).at(-1)}`,
			best: info.best,
			step: progress.step,
		});
		this.#options.onChanged();
		return info.path;
	}

	/** All heads; of the one in training also its moments. */
	#headContents(): HeadContents {
		const { learner, recipe } = this.parts;
		const stage = recipe.stages[this.progress.stageIndex];
		const trained = stage !== undefined && this.progress.stageStep > 0 && stage.type in headOfStage;
		const name = trained ? headOfStage[(stage as ResolvedHeadStage).type] : null;
		return {
			parameters: learner.headParameters,
			weights: new Map(learner.heads.map((head) => [head, learner.headWeights(head)])),
			training: name === null ? null : { name, state: learner.headState(name) },
		};
	}

	async setHyperparameters(changes: Hyperparameters): Promise<number> {
		const stage = this.parts.recipe.stages[this.progress.stageIndex];
		if (!stage) throw new Failure('unavailable', 'The run has no stage left whose hyper-parameters could change.');
		for (const name of Object.keys(changes)) {
			if (name in stage) continue;
			throw new Failure('unsupported', `The ${stage.type} stage that runs now has no hyper-parameter "${name}".`);
		}
		const fromStep = this.progress.step + 1;
		await this.#writer.appendEvent({ type: 'hyperparameters', changes, fromStep, step: this.progress.step });
		this.progress.hyperparameters = { ...this.progress.hyperparameters, ...changes };
		this.#options.onChanged();
		return fromStep;
	}

	/** The stage of the next update, as the recipe has it. */
	#stage(): ResolvedStage {
		return this.parts.recipe.stages[this.progress.stageIndex] as ResolvedStage;
	}

	/** The same with the changes that people made. */
	#stageInForce(): ResolvedStage {
		return { ...this.#stage(), ...this.progress.hyperparameters } as ResolvedStage;
	}

	#nextStage(): void {
		this.progress.stageIndex++;
		this.progress.stageStep = 0;
		this.progress.hyperparameters = {};
	}

	get interrupt(): AbortSignal {
		return this.#gate.interruptSignal;
	}

	noteOutput(reward: string, lines: readonly string[]): void {
		if (this.#outputRoom <= 0) return;
		const kept: string[] = [];
		for (const line of lines) {
			if (this.#outputRoom <= 0) break;
			kept.push(line);
			this.#outputRoom -= line.length + 1;
		}
		if (this.#outputRoom <= 0) kept.push('(further output of rewards is left out)');
		this.#writer.log(`output of the reward "${reward}":\n${kept.join('\n')}`);
	}

	noteFailures(failures: RewardFailures): void {
		const { column } = failures;
		const batches = (this.#failing.get(column) ?? 0) + 1;
		this.#failing.set(column, batches);
		// The metric tells every batch; a person is told at powers of two.
		if ((batches & (batches - 1)) !== 0) return;
		const more = batches === 1 ? '' : ` It has failed in ${batches} batches so far.`;
		this.#alertFailures('warning', failures, `${describeFailures(failures)}${more}`);
	}

	async holdBatch(failures: RewardFailures): Promise<Verdict> {
		const { message, action } = explainHold(failures, this.parts.recipe, this.progress.step);
		this.#alertFailures('error', failures, `${message} ${action}`);
		this.#hold = { message, action, time: Date.now() / 1000 };
		this.#gate.hold();
		try {
			return await this.openGate();
		} finally {
			this.#hold = null;
			this.parts.rewards.reload();
		}
	}

	#alertFailures(level: 'warning' | 'error', failures: RewardFailures, message: string): void {
		const { column, file, failed, rows, first } = failures;
		this.#writer.log(`${level}: ${message}${first.stack === undefined ? '' : `\n${first.stack}`}`);
		const place = {
			...(first.index < 0 ? {} : { row: first.index }),
			...(file === null ? {} : { file }),
			...(first.line === undefined ? {} : { line: first.line }),
		};
		const event = { level, message, reward: column, failed, rows, kind: first.kind, ...place };
		void this.#writer.appendEvent({ type: 'alert', ...event, step: this.progress.step }).catch(() => undefined);
	}

	async openGate(): Promise<Verdict> {
		const isDue = (change: RecordedChange) => change.fromStep <= this.progress.step + 1;
		for (const { changes } of this.#replay.filter(isDue)) {
			this.progress.hyperparameters = { ...this.progress.hyperparameters, ...changes };
		}
		this.#replay = this.#replay.filter((change) => !isDue(change));
		return (await this.#gate.betweenBatches(this)) === 'stop' ? 'stop' : 'next';
	}

	async #beginStage(stage: ResolvedStage): Promise<void> {
		const { progress, parts } = this;
		// An upper bound: stages that ended early by a measured quantity have made it smaller.
		const left = parts.recipe.stages.slice(progress.stageIndex).reduce((sum, { steps }) => sum + steps, 0);
		const totalSteps = progress.step - progress.stageStep + left;
		await this.#writer.updateRecord({ stage: stage.type, status: 'running', step: progress.step, totalSteps });
		if (progress.stageStep === 0) {
			if (this.#options.announcedStage !== progress.stageIndex) {
				await this.#writer.appendEvent({
					type: 'stage',
					name: stage.type,
					index: progress.stageIndex,
					step: progress.step,
				});
			}
			parts.learner.resetOptimiser();
			if (stage.type in headOfStage) parts.learner.addHead(headOfStage[(stage as ResolvedHeadStage).type]);
			if (stage.type === 'grpo') {
				if (stage.beta > 0) parts.learner.setReference();
				await this.#evaluateBefore(stage);
			}
		}
		this.#options.onChanged();
	}

	/** What a grpo stage starts from, where the stage before did not measure it. */
	async #evaluateBefore(stage: ResolvedStage): Promise<void> {
		if (this.progress.evaluatedAt === this.progress.step) return;
		const { metrics } = await this.#evaluate(this.#heldOut());
		await this.#writeLine(stage.type, { ...metrics, ...this.watch.take() });
	}

	#heldOut(): EvaluationSettings {
		const { problems, samples, temperature } = this.parts.recipe.evaluate;
		return { name: 'heldout', problems, samples, temperature };
	}

	/** The stage's own measure, where it has one, as often as held-out accuracy; else that. */
	async #measureIfDue(
		stage: ResolvedStage,
		stageEnds: boolean,
		batchStart: number,
		measure: UpdateReport['evaluate'],
	): Promise<{ metrics: Metrics; reached: boolean; isBest: boolean }> {
		if (measure === undefined) return this.#evaluateIfDue(stage, stageEnds, batchStart);
		const { every } = this.parts.recipe.evaluate;
		const due = stageEnds || passedMultiple(batchStart, this.progress.step, every);
		return { metrics: due ? await this.watch.measure('evaluate', measure) : {}, reached: false, isBest: false };
	}

	/**
	 * Held-out accuracy every `evaluate.every` steps, or every `until.every` in a stage that ends by it, and at the end of
	 * a stage. A stage whose `until` asks for other settings than `evaluate` has its own measure beside it, `eval/until`.
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
		const due = stageEnds || reached || (!until && passed(this.parts.recipe.evaluate.every));
		if (due && progress.evaluatedAt !== progress.step) await measureHeldOut();
		return { metrics, reached, isBest };
	}

	async #evaluate(settings: EvaluationSettings): Promise<{ metrics: Metrics; accuracy: number; isBest: boolean }> {
		const { progress } = this;
		const { summary, lines }: Evaluation = await this.watch.measure('evaluate', () =>
			evaluate(this.parts, progress.step, settings),
		);
		await this.#writer.writeEvaluation(progress.step, settings.name, lines, summary);
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

	async #writeLine(stage: string, values: Metrics): Promise<void> {
		await this.#writer.appendMetrics({ step: this.progress.step, time: Date.now() / 1000, stage, values });
		const now = performance.now();
		if (now - this.#recorded >= recordIntervalMs) {
			this.#recorded = now;
			// Not waited for: it says nothing that the metrics do not, and a full disk shows there.
			this.#writer.updateRecord({ step: this.progress.step }).catch(() => undefined);
		}
		this.#options.onChanged();
	}
}
