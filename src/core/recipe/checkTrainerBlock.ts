import type { Stage } from '../../protocol/recipeKeys/recipe.ts';
import type { KeySchema } from '../../protocol/recipeKeys/recipeKey.ts';
import { stageSchemaOf } from './filledStage.ts';
import type { Report } from './pathFault.ts';
import { trainerKeysElsewhere } from './trainerKeysElsewhere.ts';

/**
 * Reports `trainer` options that are set elsewhere in a recipe. TRL's own options are validated where TRL is installed.
 */
export function checkTrainerBlock(stage: Stage, index: number, report: Report): void {
	if (!('trainer' in stage) || stage.trainer === undefined) return;
	const keys = (stageSchemaOf(stage.type)?.keys ?? {}) as Readonly<Record<string, KeySchema>>;
	for (const key of Object.keys(stage.trainer)) {
		const place = ['stages', index, 'trainer', key];
		const elsewhere = trainerKeysElsewhere[key];
		if (isStageKey(stage, keys, key)) report(place, `"${key}" is a stage key. Move it out of "trainer".`);
		else if (elsewhere !== undefined) report(place, `"${key}" cannot be set in "trainer": ${elsewhere}.`);
	}
}

/**
 * Returns whether an option must be set in the stage. Optional keys were TRL options before the embedded engine
 * supported them, so recipes may still set them in the block.
 */
function isStageKey(stage: Stage, keys: Readonly<Record<string, KeySchema>>, key: string): boolean {
	return Object.hasOwn(keys, key) && (keys[key]?.facts?.maybe !== true || Object.hasOwn(stage, key));
}
