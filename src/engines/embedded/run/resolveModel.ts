import { Failure } from '../../../base/failure.ts';
import { hashText } from '../../../base/random.ts';
import type { ProblemSource } from '../../../core/dataset/problemSource.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { vocabularyTags } from '../../../core/text/latentTags.ts';
import { parseTokenizerJson } from '../../../core/text/parseTokenizerJson.ts';
import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import { newModel, vocabularyFor } from '../../shared/newModel.ts';
import type { StoredCheckpoint } from './checkpointFolder.ts';
import type { Rehearsal } from './episodes/rehearsal.ts';
import type { ImitationFiles } from './imitation/imitationFiles.ts';
import { tokenizerOf } from './imitation/teacher.ts';
import type { ModelAndTokenizer } from './modelAndTokenizer.ts';

export function vocabularyHash(tokenizer: Tokenizer): string {
	return hashText(JSON.stringify(tokenizer.symbols)).toString(16).padStart(8, '0');
}

/**
 * Determines the model's sizes and vocabulary, either from the recipe and the data or, if weights are loaded, from
 * their checkpoint. Throws `mismatch` if the checkpoint does not match the recipe.
 * @param imitation text whose characters a new model must know in addition to the dataset's; a student uses its
 * teacher's vocabulary
 * @param rehearsal what the recipe's environment requires of a new model
 */
export function resolveModel(
	recipe: ResolvedRecipe,
	source: ProblemSource,
	weights: StoredCheckpoint | null,
	imitation: Pick<ImitationFiles, 'texts' | 'teachers'> = { texts: [], teachers: new Map() },
	rehearsal: Rehearsal | null = null,
): ModelAndTokenizer {
	const wanted = 'path' in recipe.model ? null : recipe.model;
	if (weights === null) {
		if (wanted === null) throw new Failure('internal', 'No model folder is open.');
		const texts = [...imitation.texts, ...(rehearsal?.texts ?? [])];
		const longer = { prompt: rehearsal?.observation ?? 0, demonstration: rehearsal?.demonstration ?? 0 };
		const made = newModel(recipe, wanted, source, texts, longer);
		const [teacher] = imitation.teachers.values();
		const tokenizer = teacher === undefined ? made.tokenizer : taught(recipe, source, teacher);
		const shape = { ...made.shape, vocabulary: tokenizer.size };
		return { shape, tokenizer, vocabulary: vocabularyHash(tokenizer) };
	}
	const built = vocabularyFor(recipe, source);
	const { shape } = weights.state;
	const tokenizer = parseTokenizerJson(weights.tokenizer, `${weights.folder}/tokenizer.json`);
	const other = (what: string) =>
		new Failure(
			'mismatch',
			`Checkpoint ${weights.folder} does not match the recipe: ${what}.`,
			'Use a matching checkpoint, or change the recipe.',
		);
	if (tokenizer.size !== shape.vocabulary) {
		throw other(`its tokenizer has ${tokenizer.size} symbols, but its weights have ${shape.vocabulary}`);
	}
	for (const size of ['layers', 'width', 'heads', 'feedForward', 'context'] as const) {
		const value = wanted?.[size];
		if (value != null && value !== shape[size])
			throw other(`its ${size} is ${shape[size]}, but the recipe says ${value}`);
	}
	if (vocabularyTags(recipe.template).join() !== tokenizer.tags.join()) {
		throw other(`its template uses the tags ${tokenizer.tags.join(' ') || '(none)'}`);
	}
	const missing = built.symbols.find((symbol) => !tokenizer.symbols.includes(symbol));
	if (missing !== undefined)
		throw other(`its vocabulary lacks ${JSON.stringify(missing)}, which occurs in the dataset`);
	return { shape, tokenizer, vocabulary: vocabularyHash(tokenizer) };
}

/** Returns the teacher's vocabulary after checking that it covers the recipe and dataset. */
function taught(recipe: ResolvedRecipe, source: ProblemSource, teacher: StoredCheckpoint): Tokenizer {
	const tokenizer = tokenizerOf(teacher);
	const fault = (what: string) =>
		new Failure(
			'mismatch',
			`Teacher ${teacher.folder} does not match the recipe: ${what}.`,
			'Use a teacher trained on similar data, or train on its completions with "data".',
		);
	if (vocabularyTags(recipe.template).join() !== tokenizer.tags.join()) {
		throw fault(`its template uses the tags ${tokenizer.tags.join(' ') || '(none)'}`);
	}
	const missing = vocabularyFor(recipe, source).symbols.find((symbol) => !tokenizer.symbols.includes(symbol));
	if (missing !== undefined)
		throw fault(`its vocabulary lacks ${JSON.stringify(missing)}, which occurs in the dataset`);
	return tokenizer;
}
