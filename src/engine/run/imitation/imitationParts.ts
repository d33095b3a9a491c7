import type { ProblemSource } from '../../../core/dataset/problemSource.ts';
import type { ResolvedPretrainStage, ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import type { ModelAndTokenizer } from '../resolveModel.ts';
import type { ImitationFiles } from './imitationFiles.ts';
import { corpusTexts, type PretrainTexts, sourceTexts } from './pretrainTexts.ts';

/** What stages imitate, in the model's tokens, by the number of the stage. */
export interface ImitationParts {
	/** Of pretrain stages; those without an entry learn worked solutions alone. */
	readonly texts: ReadonlyMap<number, PretrainTexts>;
}

export function imitationParts(
	recipe: ResolvedRecipe,
	source: ProblemSource,
	files: ImitationFiles,
	{ tokenizer, shape }: ModelAndTokenizer,
	onLeftOut: (count: number, why: string) => void,
): ImitationParts {
	const texts = new Map<number, PretrainTexts>();
	const textsOf = (index: number, { corpus }: ResolvedPretrainStage): PretrainTexts | null => {
		const read = files.corpora.get(index);
		if (read !== undefined && corpus !== null) {
			return corpusTexts(read, corpus.path, tokenizer, shape.context, recipe.seed);
		}
		const { text } = source;
		return text === undefined ? null : sourceTexts(text, tokenizer, shape.context, recipe.seed);
	};
	for (const [index, stage] of recipe.stages.entries()) {
		if (stage.type !== 'pretrain') continue;
		const own = textsOf(index, stage);
		if (own === null) continue;
		texts.set(index, own);
		if (own.leftOut > 0) {
			onLeftOut(own.leftOut, `texts of ${stage.corpus?.path} with symbols that the model's vocabulary lacks`);
		}
	}
	return { texts };
}
