import type { NamedStage } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { inputsOf, placeOf } from './pipelineGraph.ts';

type Key = readonly (string | number)[];

/**
 * Maps a key in a compiled stage recipe to its path in the pipeline recipe. Returns null if another stage provides the
 * value.
 * @param at path of the stage in the pipeline, such as `stages`, 1
 */
export function writtenPlace(stage: NamedStage, at: Key, [head, ...rest]: Key): Key | null {
	const own = head === 'stages' ? rest.slice(1) : [head as string, ...rest];
	const named = new Set(inputsOf(stage).map(placeOf));
	if (named.has(String(own[0])) || named.has(`${own[0]}.${own[1]}`)) return null;
	if (head === 'stages') return [...at, ...own];
	if (head === 'model' && stage.from !== undefined) return null;
	return stage[head as string] === undefined ? [head as string, ...rest] : [...at, head as string, ...rest];
}
