import * as v from 'valibot';
import { stageSchemaOf } from '../core/recipe/filledStage.ts';
import { type Hyperparameters, hyperparametersSchema } from '../protocol/control.ts';
import { decode } from '../protocol/decode.ts';
import { grpoStageSchema } from '../protocol/recipeKeys/groupStages.ts';
import { keysOf, meaningOf } from '../protocol/recipeKeys/recipeKey.ts';
import { readEvents, readResolvedRecipe } from '../runs/runReader.ts';

const names = Object.keys(hyperparametersSchema.entries) as (keyof Hyperparameters)[];

const recipeSchema = v.looseObject({ stages: v.array(v.looseObject({ type: v.string() })) });
const changeSchema = v.looseObject({ type: v.literal('hyperparameters'), changes: v.record(v.string(), v.number()) });

/**
 * Returns the hyperparameters that can be changed in a stage, with descriptions. Changes last until the stage ends.
 * @param stage null if unknown, in which case all hyperparameters are returned
 */
export function changeable(stage: string | null): ReadonlyMap<keyof Hyperparameters, string> {
	const { keys } = stageSchemaOf(stage ?? '') ?? grpoStageSchema;
	const found = Object.entries(keysOf({ keys })).filter(([, { live }]) => live);
	return new Map(found.map(([name, key]) => [name as keyof Hyperparameters, meaningOf(key)]));
}

/**
 * Returns the current hyperparameters of a run, based on its recipe and recorded changes. Unreadable files are ignored.
 */
export async function currentHyperparameters(run: string, stage: string | null): Promise<Hyperparameters> {
	const current: Record<string, number> = {};
	const take = (values: Readonly<Record<string, unknown>>) => {
		for (const name of names) if (typeof values[name] === 'number') current[name] = values[name];
	};
	const recipe = decode(recipeSchema, await readResolvedRecipe(run).catch(() => null));
	if (recipe.ok) {
		const { stages } = recipe.value;
		take(stages.findLast((candidate) => candidate.type === stage) ?? stages.at(-1) ?? {});
	}
	for (const event of await readEvents(run).catch(() => [])) {
		const change = decode(changeSchema, event);
		if (change.ok) take(change.value.changes);
	}
	return current;
}
