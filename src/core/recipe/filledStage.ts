import { type Defaults, defaultsOf } from '../../protocol/recipeKeys/keyDefaults.ts';
import { type Stage, type StageSchema, stageSchema } from '../../protocol/recipeKeys/recipe.ts';
import type { Keys } from '../../protocol/recipeKeys/recipeKey.ts';
import { given } from './recipeValues.ts';

type SchemaOf<T extends Stage['type']> = Extract<
	StageSchema,
	{ readonly keys: { readonly type: { readonly literal: T } } }
>;

/** A stage as written, with constant defaults filled in. */
export type FilledStage<S extends Stage> = S & Defaults<SchemaOf<S['type']>['keys']>;

/** Returns the declaration for a stage type, or null if the type does not exist. */
export function stageSchemaOf(type: string): { readonly keys: Keys } | null {
	const schema = stageSchema.options.find(({ keys }) => keys.type.literal === type);
	return (schema as { readonly keys: Keys } | undefined) ?? null;
}

export function filledStage<S extends Stage>(stage: S): FilledStage<S> {
	const schema = stageSchemaOf(stage.type) as { readonly keys: Keys };
	return { ...defaultsOf(schema), ...given(stage) } as FilledStage<S>;
}
