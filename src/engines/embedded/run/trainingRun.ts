import { Failure } from '../../../base/failure.ts';
import { latentFormIn } from '../../../core/latent/latentCurriculum.ts';
import {
	isReinforced,
	type ResolvedDistillStage,
	type ResolvedDpoStage,
	type ResolvedGrpoStage,
	type ResolvedHeadStage,
	type ResolvedPpoStage,
	type ResolvedPretrainStage,
	type ResolvedRejectionStage,
	type ResolvedRewardModelStage,
	type ResolvedRlooStage,
	type ResolvedSftStage,
	type ResolvedStage,
} from '../../../core/recipe/resolvedRecipe.ts';
import type { HeadName } from '../../../protocol/control.ts';
import { headOfStage, trainsHead } from '../../../protocol/recipeKeys/headStages.ts';
import type { OrderlyEnd } from '../../../protocol/runRecord.ts';
import type { CourseOptions, UpdateReport } from '../../shared/courseOptions.ts';
import type { Evaluation, EvaluationSettings } from '../../shared/evaluation.ts';
import { RunCourse, type Verdict } from '../../shared/runCourse.ts';
import type { RewardFailures } from '../../shared/scoreBatch.ts';
import type { Sample, SampleRequest } from '../learner.ts';
import { BatchesAhead } from './ahead/batchesAhead.ts';
import type { BatchOrder } from './ahead/batchOrder.ts';
import { type HeadContents, writeCheckpointFiles } from './checkpointFolder.ts';
import { evaluate } from './evaluator.ts';
import type { GpuMemoryWatch } from './gpuMemoryWatch.ts';
import { runGrpoStage } from './grpoStage.ts';
import { runHeadStage } from './heads/headStage.ts';
import type { CompletionTexts } from './imitation/completionTexts.ts';
import { runDistillStage } from './imitation/distillStage.ts';
import { runPretrainStage } from './imitation/pretrainStage.ts';
import { runPpoStage } from './ppo/ppoStage.ts';
import { runDpoStage } from './preference/dpoStage.ts';
import type { PreferencePairs } from './preference/pairFiles.ts';
import { runRewardModelStage } from './preference/rewardModelStage.ts';
import { runRejectionStage } from './rejection/rejectionStage.ts';
import { runRlooStage } from './rlooStage.ts';
import { runSftStage } from './sftStage.ts';
import type { RunData, StageHost, TrainingParts } from './stageHost.ts';
import { engineVersions } from './versions.ts';

/** Returns whether the stage uses its initial policy as a reference. */
function needsReference(stage: ResolvedStage): boolean {
	if (stage.type === 'dpo') return true;
	return isReinforced(stage) && (stage.type === 'ppo' ? stage.kl_coef : stage.beta) > 0;
}

export interface TrainingRunOptions extends CourseOptions {
	readonly vocabulary: string;
	/** Generation batches that were in progress at the checkpoint that the run continues from. */
	readonly ahead: readonly BatchOrder[];
	/** Measures the memory of the GPU that the run trains on; null on the CPU, or if no tool reports it. */
	readonly memory: GpuMemoryWatch | null;
}

/** Runs a recipe's stages on the embedded engine. */
export class TrainingRun extends RunCourse implements StageHost {
	readonly parts: TrainingParts;
	readonly #ahead: BatchesAhead;
	readonly #vocabulary: string;
	readonly #memory: GpuMemoryWatch | null;

	constructor(parts: TrainingParts, options: TrainingRunOptions) {
		super(options);
		this.parts = parts;
		this.#vocabulary = options.vocabulary;
		this.#memory = options.memory;
		this.#ahead = new BatchesAhead(options.ahead);
	}

	/** Trains until the recipe completes or the run is stopped. Throws on errors. */
	async run(): Promise<OrderlyEnd> {
		try {
			return await this.#train();
		} finally {
			this.#ahead.close();
		}
	}

	async #train(): Promise<OrderlyEnd> {
		const { progress } = this;
		const { stages } = this.parts.recipe;
		let verdict = await this.openGate();
		for (;;) {
			this.skipFinishedStages();
			if (verdict === 'stop' || progress.stageIndex >= stages.length) break;
			const stage = this.stage();
			await this.beginStage(stage);
			const teacher = this.parts.imitation.teachers.get(progress.stageIndex);
			if (teacher !== undefined) this.parts.learner.setTeacher(teacher.shape, teacher.parameters);
			verdict = await this.#runStage(stage);
			// On `stop`, the checkpoint still needs these batches.
			if (verdict !== 'stop') this.#ahead.clear();
		}
		if (verdict === 'stop' && progress.stageIndex < stages.length) {
			if (this.options.gate.stopRequest?.checkpoint) await this.checkpoint();
			return 'stopped';
		}
		return 'finished';
	}

	#runStage({ type }: ResolvedStage): Promise<Verdict> {
		switch (type) {
			case 'pretrain': {
				const texts = this.parts.imitation.texts.get(this.progress.stageIndex) ?? null;
				return runPretrainStage(this, () => this.stageInForce() as ResolvedPretrainStage, texts);
			}
			case 'sft':
				return runSftStage(this, () => this.stageInForce() as ResolvedSftStage, this.#completions());
			case 'distill':
				return runDistillStage(this, () => this.stageInForce() as ResolvedDistillStage, this.#completions());
			case 'rejection-sampling': {
				const extra = this.parts.imitation.extra.get(this.progress.stageIndex) ?? [];
				return runRejectionStage(this, () => this.stageInForce() as ResolvedRejectionStage, extra);
			}
			case 'grpo':
				return runGrpoStage(this, () => this.stageInForce() as ResolvedGrpoStage, this.#ahead);
			case 'ppo':
				return runPpoStage(this, () => this.stageInForce() as ResolvedPpoStage);
			case 'rloo':
				return runRlooStage(this, () => this.stageInForce() as ResolvedRlooStage);
			case 'dpo': {
				const pairs = this.parts.pairs.get(this.progress.stageIndex) as PreferencePairs;
				return runDpoStage(this, () => this.stageInForce() as ResolvedDpoStage, pairs);
			}
			case 'reward-model': {
				const pairs = this.parts.pairs.get(this.progress.stageIndex) as PreferencePairs;
				return runRewardModelStage(this, () => this.stageInForce() as ResolvedRewardModelStage, pairs);
			}
			case 'value-model':
			case 'process-reward-model': {
				const labels = this.parts.labels.get(this.progress.stageIndex) ?? null;
				return runHeadStage(this, () => this.stageInForce() as ResolvedHeadStage, labels);
			}
			default:
				throw new Failure(
					'unsupported',
					`The embedded engine does not support "${type}" stages.`,
					'Use the pytorch engine.',
				);
		}
	}

	#completions(): CompletionTexts | null {
		return this.parts.imitation.completions.get(this.progress.stageIndex) ?? null;
	}

	/**
	 * Adds metrics for host-device traffic and device memory since the previous update, including those from generating
	 * the batch.
	 */
	override endUpdate(report: UpdateReport): Promise<Verdict> {
		const traffic = this.parts.learner.takeTraffic();
		if (traffic === null) return super.endUpdate(report);
		const { bytesUp, bytesDown, dispatches } = traffic;
		const counts = { 'gpu/bytes_up': bytesUp, 'gpu/bytes_down': bytesDown, 'gpu/dispatches': dispatches };
		const memory = this.#memory?.take() ?? null;
		const sizes = memory === null ? {} : { 'gpu/0/memory_used': memory.used, 'gpu/0/memory_total': memory.total };
		return super.endUpdate({ ...report, metrics: { ...report.metrics, ...counts, ...sizes } });
	}

	event(event: { readonly type: string; readonly [key: string]: unknown }): void {
		void this.options.writer.appendEvent({ ...event, step: this.progress.step + 1 }).catch(() => undefined);
	}

	get data(): RunData {
		return this.options.writer.data;
	}

	get interrupt(): AbortSignal {
		return this.options.gate.interruptSignal;
	}

	sample(request: SampleRequest): Promise<Sample[]> {
		return this.parts.learner.sample(request);
	}

	noteOutput(reward: string, lines: readonly string[]): void {
		this.rewardWatch.noteOutput(reward, lines);
	}

	noteFailures(failures: RewardFailures): void {
		this.rewardWatch.noteFailures(failures);
	}

	protected async prepareStage(stage: ResolvedStage): Promise<void> {
		const { learner } = this.parts;
		const warning = this.parts.imitation.teachers.get(this.progress.stageIndex)?.warning ?? null;
		if (warning !== null) this.alert('warning', warning);
		await learner.resetOptimizer();
		if (trainsHead(stage.type)) await learner.addHead(headOfStage[stage.type]);
		if (needsReference(stage)) await learner.setReference();
	}

	protected evaluate(settings: EvaluationSettings): Promise<Evaluation> {
		return evaluate(this, this.progress.step, settings);
	}

	protected async fillCheckpoint(folder: string): Promise<void> {
		const { progress, parts, options } = this;
		const learner = await parts.learner.state();
		const latent = latentFormIn(parts.recipe.stages, progress);
		await writeCheckpointFiles(folder, parts.learner.parameters, {
			state: {
				run: { id: options.writer.record.id, name: options.writer.record.name },
				step: progress.step,
				stage: { index: progress.stageIndex, step: progress.stageStep },
				updates: learner.updates,
				tokens: progress.tokens,
				random: { seed: parts.recipe.seed, problems: parts.feed.cursor, generations: progress.generations },
				hyperparameters: progress.hyperparameters,
				best: progress.best,
				evaluatedAt: progress.evaluatedAt,
				...(progress.entropyBonus === null ? {} : { entropyBonus: progress.entropyBonus }),
				...(progress.curriculum === null ? {} : { curriculum: progress.curriculum }),
				...(latent === null ? {} : { thoughts: latent.thoughts }),
				shape: parts.learner.shape,
				vocabulary: this.#vocabulary,
				versions: engineVersions(),
			},
			learner,
			reference: await parts.learner.referenceParameters(),
			ahead: progress.stageStep > 0 ? this.#ahead.orders : [],
			heads: await this.#headContents(),
			tokenizer: parts.tokenizer.toTokenizerJson(),
		});
	}

	/** Returns all heads. The head being trained includes its optimizer moments. */
	async #headContents(): Promise<HeadContents> {
		const { learner, recipe } = this.parts;
		const stage = recipe.stages[this.progress.stageIndex];
		const inTraining = stage !== undefined && this.progress.stageStep > 0 && trainsHead(stage.type);
		const name = inTraining ? headOfStage[stage.type as keyof typeof headOfStage] : null;
		const weights = new Map<HeadName, Float32Array>();
		for (const head of learner.heads) weights.set(head, await learner.headWeights(head));
		return {
			parameters: learner.headParameters,
			weights,
			training: name === null ? null : { name, state: await learner.headState(name) },
		};
	}
}
