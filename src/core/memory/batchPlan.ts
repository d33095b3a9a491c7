import type { ResolvedStage } from '../recipe/resolvedRecipe.ts';
import type { ModelShape } from './modelShape.ts';
import { type BatchPlan, logitChunk } from './stageMemory.ts';

/** Recipe settings that determine batch sizes. */
export interface BatchSettings {
	/** Number of training processes across all machines. */
	readonly processes: number;
	/** Number of rows per micro-batch, or null if all rows in an update are processed together. */
	readonly microBatch: number | null;
	readonly gradientCheckpointing: boolean;
	/** Maximum number of tokens per row in stages that learn from existing text. */
	readonly maxLength: number;
	readonly vllm: boolean;
	/** Number of tokens in the longest prompt, or null if unknown. */
	readonly promptTokens: number | null;
	/**
	 * Number of tokens in the longest training example including its prompt, or null if unknown (`maxLength` is used).
	 */
	readonly textTokens: number | null;
}

/** Number of tokens assumed for prompts of unknown length. The estimate reports this assumption. */
export const assumedPromptTokens = 256;

/**
 * Returns the number of rows (pairs, in stages that learn from pairs) per update and process, or null if the stage has
 * no updates on these engines.
 */
export function updateRows(stage: ResolvedStage, processes: number): number | null {
	if (stage.type === 'ppo' || stage.type === 'value-model' || stage.type === 'rejection-sampling') return null;
	const rows =
		stage.type === 'grpo' || stage.type === 'rloo'
			? Math.ceil((stage.prompts_per_step * stage.num_generations) / processes) / stage.steps_per_generation
			: stage.batch_size / processes;
	return Math.ceil(rows);
}

/**
 * Returns the largest divisor of an update's row count that does not exceed the requested size, as the trainer does.
 */
function microRows(rows: number, asked: number | null): number {
	for (let size = Math.min(rows, asked ?? rows); size > 1; size--) if (rows % size === 0) return size;
	return 1;
}

/**
 * Returns the batch that a process computes in a stage on the pytorch and ray engines, or null if these engines do not
 * support the stage.
 */
export function batchPlan(stage: ResolvedStage, settings: BatchSettings, shape: ModelShape): BatchPlan | null {
	const { processes, microBatch, gradientCheckpointing } = settings;
	const prompt = settings.promptTokens ?? assumedPromptTokens;
	const text = Math.min(settings.maxLength, settings.textTokens ?? settings.maxLength);
	const common = { gradientCheckpointing, reference: false, generation: null };
	const update = updateRows(stage, processes);
	if (update === null) return null;
	switch (stage.type) {
		case 'grpo':
		case 'rloo': {
			const batch = Math.ceil((stage.prompts_per_step * stage.num_generations) / processes);
			const rows = microRows(update, microBatch);
			const length = prompt + stage.max_completion_length;
			return {
				...common,
				rows,
				length,
				passes: update / rows,
				logits: { tokens: rows * stage.max_completion_length, classes: shape.vocabulary },
				reference: stage.beta > 0,
				ahead: 'max_staleness' in stage && (stage.max_staleness ?? 0) > 0,
				generation: settings.vllm ? null : { rows: batch, prompt, length },
			};
		}
		case 'sft':
		case 'distill': {
			const rows = microRows(update, microBatch);
			const whole = 'loss_type' in (stage.trainer ?? {}) && stage.trainer?.loss_type !== 'chunked_nll';
			const tokens = whole ? rows * text : Math.min(rows * text, logitChunk);
			return {
				...common,
				rows,
				length: text,
				passes: update / rows,
				logits: { tokens, classes: shape.vocabulary },
			};
		}
		case 'dpo':
		case 'reward-model': {
			const pairs = microRows(update, microBatch);
			const rows = 2 * pairs;
			return {
				...common,
				rows,
				length: text,
				passes: update / pairs,
				logits:
					stage.type === 'dpo'
						? { tokens: rows * text, classes: shape.vocabulary }
						: { tokens: rows * text, classes: 1 },
				reference: stage.type === 'dpo',
			};
		}
		case 'process-reward-model': {
			const rows = microRows(update, microBatch);
			return {
				...common,
				rows,
				length: text,
				passes: update / rows,
				logits: { tokens: rows * text, classes: 2 },
			};
		}
		default:
			return null;
	}
}
