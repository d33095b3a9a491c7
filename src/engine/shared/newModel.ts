import type { ProblemSource } from '../../core/dataset/problemSource.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { contextFor, sequenceLengths } from '../../core/recipe/sequenceLengths.ts';
import type { Tokenizer } from '../../core/text/tokenizer.ts';
import { buildTokenizer } from '../../core/text/vocabulary.ts';
import type { ModelShape } from '../learner.ts';

export interface NewModel {
	readonly shape: ModelShape;
	readonly tokenizer: Tokenizer;
}

/** The vocabulary that template and data need. */
export function vocabularyFor(recipe: Pick<ResolvedRecipe, 'template'>, source: ProblemSource): Tokenizer {
	return buildTokenizer(recipe.template, source.symbols);
}

/** Sizes and vocabulary of a model that a recipe asks for by sizes. */
export function newModel(
	recipe: Pick<ResolvedRecipe, 'template' | 'stages'>,
	wanted: Exclude<ResolvedRecipe['model'], { path: string }>,
	source: ProblemSource,
): NewModel {
	const tokenizer = vocabularyFor(recipe, source);
	const { width, heads, layers, feedForward } = wanted;
	const context = wanted.context ?? contextNeeded(recipe, source);
	return { tokenizer, shape: { vocabulary: tokenizer.size, context, width, heads, layers, feedForward } };
}

/** Tokens that the recipe's longest sequence needs. */
function contextNeeded(
	{ template, stages }: Pick<ResolvedRecipe, 'template' | 'stages'>,
	source: ProblemSource,
): number {
	const samples = (type: string) => type === 'grpo' || type === 'rloo';
	const limits = stages.flatMap((stage) =>
		samples(stage.type) && 'max_completion_length' in stage ? [stage.max_completion_length] : [],
	);
	const teaches = stages.some((stage) => stage.type === 'sft');
	return contextFor(sequenceLengths(source, template), limits, teaches);
}
