import { distillSamples } from '../../protocol/recipeKeys/imitationStages.ts';
import type { Recipe, Stage } from '../../protocol/recipeKeys/recipe.ts';
import { latentTokens } from '../latent/latentCurriculum.ts';
import { stageSchemaOf } from './filledStage.ts';
import { completionLengthOf } from './keyContext.ts';
import type { Report } from './pathFault.ts';
import type { SequenceLengths } from './sequenceLengths.ts';

/**
 * Parameter limit for the embedded engine, which keeps about four times as many floats (weights, two moments, gradient)
 * in memory.
 */
export const maxParameters = 200_000_000;

/** Returns the number of decoder parameters for these sizes, including the embedding and output matrices. */
export function countParameters(
	shape: { readonly layers: number; readonly width: number; readonly feedForward: number; readonly context: number },
	vocabulary: number,
): number {
	const { layers, width, feedForward, context } = shape;
	const block = 4 * width * width + 2 * width * feedForward + 2 * width;
	return 2 * vocabulary * width + context * width + layers * block + width;
}

/** Returns the maximum completion length that the policy samples in a stage, or null if it does not sample. */
function sampledLength(stage: Stage, lengths: SequenceLengths | null): number | null {
	if (stageSchemaOf(stage.type)?.keys.max_completion_length === undefined) return null;
	if (stage.type === 'distill' && !distillSamples(stage)) return null;
	return ('max_completion_length' in stage ? stage.max_completion_length : undefined) ?? completionLengthOf(lengths);
}

/** Checks the sizes of a new model. */
export function checkModel(recipe: Recipe, lengths: SequenceLengths | null, report: Report): void {
	const { model } = recipe;
	if ('path' in model) return;
	const { layers, width, heads, context } = model;
	if (width % heads !== 0) {
		const below = Math.floor(width / heads) * heads;
		const choices = below >= 8 ? `${below} or ${below + heads}` : `${below + heads}`;
		report(['model', 'width'], `"width" ${width} is not a multiple of "heads" ${heads}. Choose ${choices}.`);
	}
	const completions = recipe.stages.flatMap(
		(stage) => sampledLength(stage, lengths) ?? (lengths ? lengths.completion : []),
	);
	const needed = (lengths?.prompt ?? 2) + latentTokens(recipe.stages) + Math.max(1, ...completions);
	if (context !== undefined && context < needed) {
		report(
			['model', 'context'],
			`"context" ${context} is too short: prompt and completion can take up to ${needed} tokens; ` +
				`raise it to ${needed} or lower "max_completion_length".`,
		);
	}
	const feedForward = model.feedForward ?? 4 * width;
	const parameters = countParameters({ layers, width, feedForward, context: context ?? needed }, 128);
	if (recipe.engine === 'embedded' && parameters > maxParameters) {
		report(
			['model'],
			`A model with ${layers} layers of width ${width} has about ${Math.round(parameters / 1e6)} million parameters, but the ` +
				`embedded engine supports at most ${maxParameters / 1e6} million. Lower "width" or "layers".`,
		);
	}
}
