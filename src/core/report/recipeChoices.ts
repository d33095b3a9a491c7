import { flattenRecipe } from '../comparison/recipeDiff.ts';
import { recipeDefaults } from '../recipe/recipeDefaults.ts';

/** A key of a resolved recipe whose value is not the default. */
export interface RecipeChoice {
	readonly key: string;
	/** As JSON. */
	readonly value: string;
	readonly preset: string;
}

type Table = Readonly<Record<string, unknown>>;
const tableOf = (value: unknown): Table =>
	typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : {};

/** Parts of a recipe that have defaults of their own. */
const parts = ['scoring', 'evaluate', 'checkpoint', 'log', 'pytorch', 'ray'] as const;

function stageDefaults(stage: Table): Table {
	const type = typeof stage.type === 'string' ? stage.type : '';
	const isHead = type === 'value-model' || type === 'process-reward-model';
	const own = Object.hasOwn(recipeDefaults, type) ? tableOf(recipeDefaults[type as keyof typeof recipeDefaults]) : {};
	const { epsilon } = stage;
	return {
		...recipeDefaults.optimiser,
		...(isHead ? recipeDefaults.head : {}),
		...own,
		...(typeof stage.until === 'object' && stage.until !== null ? { until: recipeDefaults.until } : { until: null }),
		...('epsilon_high' in stage ? { epsilon_high: epsilon } : {}),
	};
}

/**
 * What somebody chose: keys of a resolved recipe that have a default and another value, in the order of the recipe. Keys
 * without a default (name, data, steps, learning rate) are not among them.
 */
export function recipeChoices(recipe: unknown): RecipeChoice[] {
	const told = tableOf(recipe);
	const stages = Array.isArray(told.stages) ? told.stages : [];
	const preset: Record<string, unknown> = {
		whenBusy: 'queue',
		stages: stages.map((stage) => stageDefaults(tableOf(stage))),
	};
	for (const part of parts) if (typeof told[part] === 'object') preset[part] = recipeDefaults[part];
	const presets = flattenRecipe(preset);
	const choices: RecipeChoice[] = [];
	for (const [key, value] of flattenRecipe(recipe)) {
		const standard = presets.get(key);
		if (standard !== undefined && standard !== value) choices.push({ key, value, preset: standard });
	}
	return choices;
}
