import type { ProblemSource } from '../../../../core/dataset/problemSource.ts';
import type { ResolvedPretrainStage, ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import type { ModelAndTokenizer } from '../modelAndTokenizer.ts';
import { CompletionTexts } from './completionTexts.ts';
import type { ImitationFiles } from './imitationFiles.ts';
import { corpusTexts, type PretrainTexts, sourceTexts } from './pretrainTexts.ts';
import { type Teacher, teachersOf } from './teacher.ts';

/** Tokenized imitation data and teachers, keyed by stage index. */
export interface ImitationParts {
	/** Documents for pretrain stages. A stage without an entry trains on worked solutions only. */
	readonly texts: ReadonlyMap<number, PretrainTexts>;
	/** Completions read from files. */
	readonly completions: ReadonlyMap<number, CompletionTexts>;
	/** Rows from files that are mixed into a stage's data. */
	readonly extra: ImitationFiles['extra'];
	readonly teachers: ReadonlyMap<number, Teacher>;
}

export function imitationParts(
	recipe: ResolvedRecipe,
	source: ProblemSource,
	files: ImitationFiles,
	model: ModelAndTokenizer,
	onLeftOut: (count: number, why: string) => void,
): ImitationParts {
	const { tokenizer, shape } = model;
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
			onLeftOut(own.leftOut, `documents in ${stage.corpus?.path} contain symbols missing from the model vocabulary`);
		}
	}
	return {
		texts,
		completions: completionsOf(recipe, files, model, onLeftOut),
		extra: files.extra,
		teachers: teachersOf(files, model),
	};
}

function completionsOf(
	recipe: ResolvedRecipe,
	files: ImitationFiles,
	{ tokenizer, shape }: ModelAndTokenizer,
	onLeftOut: (count: number, why: string) => void,
): Map<number, CompletionTexts> {
	const { template, seed } = recipe;
	return new Map(
		[...files.completions].map(([index, { path, rows }]) => {
			const context = Math.min(shape.context, files.teachers.get(index)?.state.shape.context ?? shape.context);
			const texts = new CompletionTexts(rows, { path, template, tokenizer, context, seed, index });
			if (texts.leftOut > 0)
				onLeftOut(texts.leftOut, `completions in ${path} do not fit the model's context or vocabulary`);
			return [index, texts];
		}),
	);
}
