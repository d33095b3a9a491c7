import { resolvedRecipeSchema } from '../../core/recipe/resolvedRecipe.ts';
import { resolveTemplate } from '../../core/text/template.ts';
import { decode } from '../../protocol/decode.ts';
import type { RunHeader } from '../../protocol/rolloutsMessages.ts';
import { readRecord, readResolvedRecipe } from '../../runs/runReader.ts';

export type RecipeFacts = Pick<RunHeader, 'think' | 'answer' | 'weights'>;

/** Columns of a foreign run that are shown. */
const mostColumns = 100;

/** What the panel needs of the run's recipe. A run without a readable one is shown with the usual tags, without weights. */
export async function readRecipeFacts(run: string): Promise<RecipeFacts> {
	const value = await readResolvedRecipe(run).catch(() => undefined);
	const recipe = decode(resolvedRecipeSchema, value);
	if (!recipe.ok) {
		const { think, answer } = resolveTemplate('r1');
		return { think: pair(think), answer: pair(answer), weights: [] };
	}
	const { template, rewards } = recipe.value;
	// The run says which columns its rewards have become; one that has not loaded them yet has no rollouts either.
	const record = await readRecord(run).catch(() => null);
	const columns =
		record?.rewards?.slice(0, mostColumns) ??
		rewards.flatMap(({ name, weight }) => (name === null ? [] : [{ name, weight: weight ?? 1 }]));
	const weights = columns.map(({ name, weight }): [string, number] => [name, weight]);
	return { think: template.think, answer: template.answer, weights };
}

function pair(tags: readonly [string, string] | null): [string, string] | null {
	return tags === null ? null : [tags[0], tags[1]];
}
