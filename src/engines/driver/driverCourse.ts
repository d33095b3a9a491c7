import { Failure } from '../../base/failure.ts';
import type { Metrics } from '../../core/grpo/stepMetrics.ts';
import type { ResolvedStage } from '../../core/recipe/resolvedRecipe.ts';
import { decode, type Schema } from '../../protocol/decode.ts';
import { checkpointAnswerSchema, evaluateAnswerSchema } from '../../protocol/trainerLink.ts';
import type { CourseOptions } from '../shared/courseOptions.ts';
import { environmentFailures, environmentName } from '../shared/environmentFailures.ts';
import {
	type EvaluatedSample,
	type Evaluation,
	EvaluationJudge,
	type EvaluationSettings,
} from '../shared/evaluation.ts';
import { RunCourse, type Verdict } from '../shared/runCourse.ts';
import { type BatchScore, scoreBatch } from '../shared/scoreBatch.ts';
import { judgedEpisode, playedEpisodes } from './evaluatedEpisodes.ts';
import type { LinkEnvironments } from './linkEnvironments.ts';
import { LinkPictures } from './linkPictures.ts';
import { rolloutsFile } from './linkRollouts.ts';
import type { Ending, OrderExchange } from './orderExchange.ts';
import { copyCheckpoint, type StartCheckpoint, sealCheckpoint } from './torchCheckpoint.ts';
import { contract, type LinkParams, type LinkResult, type TrainerNotice } from './trainerServer.ts';

export interface DriverCourseOptions extends CourseOptions {
	readonly orders: OrderExchange;
	readonly environments: LinkEnvironments;
	/** Model context length in tokens, for prompt and completion together. */
	readonly context: number;
	readonly versions: Readonly<Record<string, string>>;
	/** Checkpoint that this run starts from, if it belongs to another run of this engine, or null. */
	readonly adopted: StartCheckpoint | null;
}

/** Number of completions scored per batch. */
const chunkRows = 1024;

/** Stages that freeze the policy, which leaves held-out accuracy unchanged. */
const policyStands: readonly ResolvedStage['type'][] = ['reward-model', 'process-reward-model', 'value-model'];

/** Keys in a metrics.jsonl line other than metric names. */
const reserved = ['step', 'time', 'stage', '__proto__'];

/** Course of a run whose updates are computed by a trainer. */
export class DriverCourse extends RunCourse {
	declare protected readonly options: DriverCourseOptions;
	readonly #pictures: LinkPictures;
	/** Number of updates before the current batch. */
	#batchStart: number;
	/** Step of the adopted checkpoint. Until the first update, the weights are still those of the checkpoint. */
	readonly #first: number;

	constructor(options: DriverCourseOptions) {
		super(options);
		this.#batchStart = options.progress.step;
		this.#first = options.progress.step;
		this.#pictures = new LinkPictures(
			(file, content) => options.writer.writePicture(file, content),
			() =>
				this.alert('warning', 'The run has reached the size limit for pictures, so further pictures are not recorded.'),
		);
		this.skipFinishedStages();
	}

	/** Starts a stage, or continues it after a resume. */
	async begin({ index, type, step }: LinkParams<'stage'>): Promise<Ending> {
		const { progress } = this;
		const stage = this.isOver ? null : this.stage();
		if (stage?.type !== type || index !== progress.stageIndex || step !== progress.stageStep) {
			const expected = stage === null ? 'none' : `${stage.type} (${progress.stageIndex}, step ${progress.stageStep})`;
			throw contract(
				new Failure(
					'invalid',
					`The trainer started the stage ${type} (${index}, step ${step}) instead of ${expected}.`,
				),
			);
		}
		await this.beginStage(stage);
		return this.#continue();
	}

	async update({ step, metrics, rollouts, batchEnds, tokens }: LinkParams<'step'>): Promise<Ending> {
		const { progress } = this;
		if (this.isOver || step !== progress.step + 1) {
			throw contract(new Failure('invalid', `The trainer reported step ${step} after step ${progress.step}.`));
		}
		progress.tokens = tokens;
		if (rollouts !== undefined && rollouts.length > 0) this.#writeRollouts(step, rollouts);
		if (batchEnds) progress.generations++;
		const stage = this.stage();
		const because = progress.stageStep + 1 >= stage.steps ? 'steps' : 'until';
		const verdict = await this.endUpdate({
			metrics: Object.fromEntries(Object.entries(metrics).filter(([name]) => !reserved.includes(name))),
			batchEnds,
			batchStart: this.#batchStart,
			...(policyStands.includes(stage.type) ? { evaluate: async (): Promise<Metrics> => ({}) } : {}),
		});
		if (batchEnds) this.#batchStart = progress.step;
		return this.ending(verdict, because);
	}

	/** Handles rollouts that arrive while their update is still being computed. */
	ahead({ step, rollouts }: TrainerNotice<'rollouts'>): void {
		if (step !== this.progress.step + 1) {
			throw contract(
				new Failure('invalid', `The trainer sent rollouts for step ${step} after step ${this.progress.step}.`),
			);
		}
		this.#writeRollouts(step, rollouts);
	}

	/** Writes rollouts. The trainer omits batches that the recipe does not log. */
	#writeRollouts(step: number, blocks: TrainerNotice<'rollouts'>['rollouts']): void {
		const stray = blocks.flatMap(({ lines }) => lines).find((line) => line.step !== step);
		if (stray)
			throw contract(new Failure('invalid', `The trainer sent rollouts for step ${stray.step} at step ${step}.`));
		this.keepRollouts(
			step,
			() => rolloutsFile(blocks),
			() => this.#pictures.add(blocks),
		);
	}

	/** Scores a batch, or returns the action that the trainer must take instead. */
	async score({ step, rows, known }: LinkParams<'rewards/score'>, turn: Turn): Promise<LinkResult<'rewards/score'>> {
		const { progress, options } = this;
		if (step !== progress.step) {
			throw contract(
				new Failure('invalid', `The trainer requested rewards for step ${step} after step ${progress.step}.`),
			);
		}
		const { scorers } = options.rewards;
		for (const [name, values] of Object.entries(known ?? {})) {
			if (values.length === rows.length && scorers.some(({ column }) => column.name === name)) continue;
			throw contract(
				new Failure(
					'invalid',
					`The trainer sent ${values.length} values for the reward "${name}" for ${rows.length} rows.`,
				),
			);
		}
		const instead = async (task: () => Promise<Verdict>) => ({
			...(await turn(async () => this.ending(await task(), 'until'))),
			rows: [],
			metrics: {},
		});
		let scored: BatchScore;
		try {
			scored = await scoreBatch(scorers, rows as never, { step, signal: options.gate.interruptSignal }, known);
		} catch (error) {
			if (Failure.from(error).reason !== 'cancelled' || !options.gate.interruptSignal.aborted) throw error;
			return instead(() => this.openGate());
		}
		for (const [column, lines] of scored.output) this.rewardWatch.noteOutput(column, lines);
		const failure = this.rewardWatch.tooMany(scored.failures);
		if (failure !== undefined) return instead(() => this.holdBatch(failure));
		for (const each of scored.failures) this.rewardWatch.noteFailures(each);
		const errors = scored.failures.map(({ column, failed }) => [`rewards/${column}/errors`, failed]);
		return {
			orders: [],
			rows: scored.rows.map((row) => ({
				...row,
				rewards: { ...row.rewards },
				errors: row.errors && { ...row.errors },
			})),
			metrics: { ...scored.metrics, ...Object.fromEntries(errors) },
		};
	}

	/** Pauses before a batch in which too many episodes failed; when the user continues, the trainer plays it again. */
	async holdEpisodes(about: LinkParams<'environment/failed'>): Promise<Ending> {
		const { recipe, environments } = this.options;
		const reward = recipe.rewards.find((one) => 'use' in one && one.use === 'environment');
		const column = reward?.name ?? 'environment';
		const verdict = await this.holdBatch(environmentFailures(column, environmentName(recipe), about));
		if (verdict === 'next') await environments.reload();
		return this.ending(verdict, 'until');
	}

	/** Whether all stages are done. */
	get isOver(): boolean {
		return this.progress.stageIndex >= this.options.recipe.stages.length;
	}

	/** Returns the order that ends an exchange. If a stop was requested, saves a checkpoint first. */
	async ending(verdict: Verdict, because: string): Promise<Ending> {
		if (verdict === 'next') return this.#continue();
		if (verdict === 'stage-over' || this.isOver) return { do: 'end-stage', because };
		if (this.options.gate.stopRequest?.checkpoint) await this.checkpoint();
		return { do: 'stop' };
	}

	#continue(): Ending {
		return { do: 'continue', hyperparameters: { ...this.progress.hyperparameters } };
	}

	protected async evaluate(settings: EvaluationSettings): Promise<Evaluation> {
		const judge = new EvaluationJudge(this.options.rewards, this.progress.step);
		const samples = await this.#evaluated(settings);
		const sorted = samples.toSorted((a, b) => a.problem - b.problem || a.sample - b.sample);
		for (let start = 0; start < sorted.length; start += chunkRows) {
			await judge.add(sorted.slice(start, start + chunkRows));
		}
		return judge.result(settings);
	}

	async #evaluated(settings: EvaluationSettings): Promise<readonly EvaluatedSample[]> {
		const { orders, environments, recipe } = this.options;
		const play = async () => {
			const answer = await orders.give({ do: 'evaluate', ...settings, maxTokens: this.#longestCompletion() });
			return answered('evaluate', evaluateAnswerSchema, answer).samples;
		};
		if (recipe.environment === undefined) return (await play()) as EvaluatedSample[];
		const { samples, failures } = await playedEpisodes({
			play,
			reload: () => environments.reload(),
			name: environmentName(recipe),
			tolerated: recipe.scoring.pauseAbove,
			step: this.progress.step,
		});
		if (failures !== null) this.rewardWatch.noteFailures(failures);
		const { environment } = await environments.describe();
		return samples.map((sample) => judgedEpisode(sample, environment));
	}

	/** Returns the maximum completion length over all sampling stages, or the full context length if there are none. */
	#longestCompletion(): number {
		const limits = this.options.recipe.stages.map((stage) =>
			stage.type === 'grpo' || stage.type === 'rloo' ? stage.max_completion_length : 0,
		);
		return Math.max(...limits) || this.options.context;
	}

	protected async fillCheckpoint(folder: string): Promise<void> {
		const { progress, options } = this;
		const { id, name } = options.writer.record;
		const state = await this.#writeState(folder);
		await sealCheckpoint(folder, {
			run: { id, name },
			step: progress.step,
			stage: { index: progress.stageIndex, step: progress.stageStep },
			tokens: progress.tokens,
			generations: progress.generations,
			hyperparameters: progress.hyperparameters,
			best: progress.best,
			evaluatedAt: progress.evaluatedAt,
			versions: { ...options.versions },
			trainer: state,
		});
	}

	/**
	 * Writes the trainer state. Adopted state is copied unchanged, because a trainer that has not started a stage has
	 * no optimizer state.
	 */
	async #writeState(folder: string): Promise<Record<string, unknown>> {
		const { adopted, orders } = this.options;
		if (adopted !== null && this.progress.step === this.#first) {
			await copyCheckpoint(adopted.folder, folder);
			return { ...adopted.trainer };
		}
		return answered('checkpoint', checkpointAnswerSchema, await orders.give({ do: 'checkpoint', folder })).state;
	}

	/** Does nothing, because the trainer prepares its own stages. */
	protected async prepareStage(): Promise<void> {}
}

/** Runs a task that can issue orders while the trainer waits. Resolves with the next orders. */
export type Turn = (task: () => Promise<Ending>) => Promise<{ orders: LinkResult<'step'>['orders'] }>;

function answered<T>(what: string, schema: Schema<T>, value: unknown): T {
	const decoded = decode(schema, value);
	if (decoded.ok) return decoded.value;
	const fault = decoded.faults[0];
	throw contract(
		new Failure('invalid', `The trainer's reply to "${what}" is invalid at ${fault?.path}: ${fault?.message}.`),
	);
}
