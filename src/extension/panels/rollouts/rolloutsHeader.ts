import { resolvedRecipeSchema } from '../../../core/recipe/resolvedRecipe.ts';
import { resolveTemplate } from '../../../core/text/template.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type { BoxSettings } from '../../../core/vision/drawnBoxes.ts';
import { decode } from '../../../protocol/decode.ts';
import type { RunHeader } from '../../../protocol/rolloutsMessages.ts';
import { ownFormat } from '../../../runs/annotationFolder.ts';
import type { RunContent } from '../../../runs/runContent.ts';
import { readRecord, readResolvedRecipe } from '../../../runs/runReader.ts';
import { usedTags } from './usedTags.ts';

export interface RecipeFacts extends Pick<RunHeader, 'think' | 'answer' | 'weights'> {
	/** How to draw boxes: settings of the first reward that scores boxes, or null. */
	readonly boxes: BoxSettings | null;
}

/** Maximum number of columns shown for a run from another trainer. */
const maxColumns = 100;

/**
 * Returns the recipe facts needed by the panel. A run without a readable recipe uses the default tags and no weights; a
 * run from another trainer uses the tags found in its completions.
 */
export async function readRecipeFacts(run: string, content: () => Promise<RunContent>): Promise<RecipeFacts> {
	const value = await readResolvedRecipe(run).catch(() => undefined);
	const recipe = decode(resolvedRecipeSchema, value);
	if (!recipe.ok) {
		const opened = await content().catch(() => null);
		if (opened !== null && opened.format !== ownFormat) {
			const used = await usedTags(opened).catch(() => null);
			return { think: pair(used?.think ?? null), answer: pair(used?.answer ?? null), weights: [], boxes: null };
		}
		const { think, answer } = resolveTemplate('r1');
		return { think: pair(think), answer: pair(answer), weights: [], boxes: null };
	}
	const { template, rewards } = recipe.value;
	// The run record lists the reward columns. A run that has not loaded its rewards yet has no rollouts either.
	const record = await readRecord(run).catch(() => null);
	const columns =
		record?.rewards?.slice(0, maxColumns) ??
		rewards.flatMap(({ name, weight }) => (name === null ? [] : [{ name, weight: weight ?? 1 }]));
	const weights = columns.map(({ name, weight }): [string, number] => [name, weight]);
	const boxes = rewards.find((reward) => 'use' in reward && reward.use === 'iou') as BoxSettings | undefined;
	return { think: template.think, answer: template.answer, weights, boxes: boxes ?? null };
}

function pair(tags: TraceTags['think']): [string, string] | null {
	return tags === null ? null : [tags[0], tags[1]];
}
