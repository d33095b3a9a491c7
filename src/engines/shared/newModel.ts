import type { ProblemSource } from '../../core/dataset/problemSource.ts';
import { latentTokens } from '../../core/latent/latentCurriculum.ts';
import { isReinforced, type ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { contextFor, sequenceLengths } from '../../core/recipe/sequenceLengths.ts';
import { vocabularyTags } from '../../core/text/latentTags.ts';
import type { Tokenizer } from '../../core/text/tokenizer.ts';
import { buildTokenizer } from '../../core/text/vocabulary.ts';
import { learnsFromTexts } from '../../protocol/recipeKeys/stageKinds.ts';
import type { ModelShape } from '../shared/modelShape.ts';

export interface NewModel {
	readonly shape: ModelShape;
	readonly tokenizer: Tokenizer;
}

export interface LongerSequences {
	readonly prompt: number;
	readonly demonstration: number;
}

/** Returns the vocabulary required by the template and the data. */
export function vocabularyFor(
	recipe: Pick<ResolvedRecipe, 'template'>,
	source: ProblemSource,
	texts: readonly string[] = [],
): Tokenizer {
	const characters = texts.length === 0 ? source.symbols : withoutTags([...source.symbols, ...texts], recipe.template);
	return buildTokenizer(recipe.template, characters);
}

/** Yields the text between tags. A tag is a single token, so its characters do not have to be in the vocabulary. */
function* withoutTags(texts: readonly string[], template: ResolvedRecipe['template']): Generator<string> {
	const tags = vocabularyTags(template).sort((a, b) => b.length - a.length);
	for (const text of texts) yield tags.reduce((rest, tag) => rest.split(tag).join(''), text);
}

/**
 * Determines the dimensions and vocabulary of a new model.
 * @param texts text to cover in addition to the dataset
 * @param longer number of tokens that an environment adds to the prompt, and length of the longest demonstration
 */
export function newModel(
	recipe: Pick<ResolvedRecipe, 'template' | 'stages'>,
	wanted: Exclude<ResolvedRecipe['model'], { path: string }>,
	source: ProblemSource,
	texts: readonly string[] = [],
	longer: LongerSequences = { prompt: 0, demonstration: 0 },
): NewModel {
	const tokenizer = vocabularyFor(recipe, source, texts);
	const { width, heads, layers, feedForward } = wanted;
	const context = wanted.context ?? contextNeeded(recipe, source, longer);
	return { tokenizer, shape: { vocabulary: tokenizer.size, context, width, heads, layers, feedForward } };
}

/** Returns the length of the recipe's longest sequence, in tokens. */
function contextNeeded(
	{ template, stages }: Pick<ResolvedRecipe, 'template' | 'stages'>,
	source: ProblemSource,
	longer: LongerSequences,
): number {
	const limits = stages.flatMap((stage) =>
		isReinforced(stage) || stage.type === 'distill' || stage.type === 'rejection-sampling'
			? [stage.max_completion_length ?? 1]
			: [],
	);
	const teaches = stages.some(({ type }) => learnsFromTexts(type));
	const lengths = sequenceLengths(source, template);
	const own = lengths.prompt + latentTokens(stages);
	const prompt = own + longer.prompt * (template.prompt.split('{prompt}').length - 1);
	return contextFor({ ...lengths, prompt }, [...limits, longer.demonstration], teaches);
}
