import { isConstant } from '../../protocol/recipeKeys/keyDefaults.ts';
import { recipeSchema } from '../../protocol/recipeKeys/recipe.ts';
import { type KeySchema, keysOf, valueSchema } from '../../protocol/recipeKeys/recipeKey.ts';
import { optimizer } from '../../protocol/recipeKeys/stageFields.ts';
import { flattenRecipe } from '../comparison/recipeDiff.ts';
import { stageSchemaOf } from '../recipe/filledStage.ts';

/** A key in a resolved recipe with a non-default value. */
export interface RecipeChoice {
	readonly key: string;
	/** JSON-encoded value. */
	readonly value: string;
	readonly preset: string;
}

type Table = Readonly<Record<string, unknown>>;
const isTable = (value: unknown): value is Table =>
	typeof value === 'object' && value !== null && !Array.isArray(value);
const tableOf = (value: unknown): Table => (isTable(value) ? value : {});

/** Recipe sections that have their own defaults. */
const { scoring, evaluate, checkpoint, log, pytorch, ray } = recipeSchema.entries;
const parts = Object.entries({ scoring, evaluate, checkpoint, log, pytorch, ray });

function stageDefaults(stage: Table): Table {
	const keys = keysOf(stageSchemaOf(String(stage.type)) ?? { keys: optimizer });
	const until = isTable(stage.until) && keys.until !== undefined ? staticDefaults(keys.until, stage) : null;
	return { ...staticDefaults({ type: '', keys }, stage), until };
}

/** Returns the defaults that follow from the schema and the specified values. */
function staticDefaults(schema: KeySchema, given: Table): Table {
	const found: Record<string, unknown> = {};
	for (const [name, { facts, wrapped }] of Object.entries(valueSchema(schema).keys ?? {})) {
		const value = facts?.default;
		if (isTable(value) && 'same' in value) found[name] = given[String(value.same)];
		else if (isTable(value) && wrapped?.keys) found[name] = staticDefaults(wrapped, tableOf(given[name]));
		else if (isConstant(value)) found[name] = value;
	}
	return found;
}

/**
 * Returns the keys in a resolved recipe that differ from their defaults, in recipe order. Excludes keys without a
 * default (name, data, steps, learning rate).
 */
export function recipeChoices(recipe: unknown): RecipeChoice[] {
	const given = tableOf(recipe);
	const stages = Array.isArray(given.stages) ? given.stages : [];
	const preset: Record<string, unknown> = {
		whenBusy: 'queue',
		stages: stages.map((stage) => stageDefaults(tableOf(stage))),
	};
	for (const [part, schema] of parts) {
		if (isTable(given[part])) preset[part] = staticDefaults(schema as unknown as KeySchema, given[part]);
	}
	const presets = flattenRecipe(preset);
	const choices: RecipeChoice[] = [];
	for (const [key, value] of flattenRecipe(recipe)) {
		const standard = presets.get(key);
		if (standard !== undefined && standard !== value) choices.push({ key, value, preset: standard });
	}
	return choices;
}
