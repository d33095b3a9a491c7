import { toJsonSchema } from '@valibot/to-json-schema';
import { recipeDefaults } from '../../src/core/recipe/recipeDefaults.ts';
import { recipeSchema } from '../../src/protocol/recipe.ts';

/** A JSON schema object, as far as it is changed here. */
interface Schema {
	[key: string]: unknown;
	properties?: Record<string, Schema>;
	items?: Schema;
	anyOf?: Schema[];
	oneOf?: Schema[];
}

/** Adds the defaults that the engine fills in, so that completion offers them. */
function addDefaults(schema: Schema, defaults: Readonly<Record<string, unknown>>): void {
	for (const [key, value] of Object.entries(defaults)) {
		const property = schema.properties?.[key];
		if (property && property.default === undefined) property.default = value;
	}
}

const stageSnippets = [
	{
		label: 'Cold start (sft)',
		description: 'Imitation of worked solutions until the format is learned',
		body: { type: 'sft', steps: 200, until: { heldOutAccuracy: 0.3 }, learning_rate: 0.001, batch_size: 64 },
	},
	{
		label: 'Reinforcement learning (grpo)',
		description: 'Group relative policy optimisation',
		body: {
			type: 'grpo',
			steps: 400,
			num_generations: recipeDefaults.grpo.num_generations,
			prompts_per_step: recipeDefaults.grpo.prompts_per_step,
			learning_rate: 0.0001,
			epsilon_high: 0.28,
		},
	},
];

/** The text of media/schemas/recipe.schema.json: completion, hover and errors of recipes, from the decoder that reads them. */
export function recipeSchemaText(): string {
	const schema = toJsonSchema(recipeSchema, { typeMode: 'input', errorMode: 'throw' }) as Schema;
	const properties = schema.properties ?? {};
	const stages = properties.stages?.items;
	const [sft, grpo] = stages?.anyOf ?? stages?.oneOf ?? [];
	if (!stages || !sft || !grpo) throw new Error('The recipe schema has no two kinds of stages any more.');
	addDefaults(sft, { ...recipeDefaults.optimiser, ...recipeDefaults.sft });
	addDefaults(grpo, { ...recipeDefaults.optimiser, ...recipeDefaults.grpo });
	for (const stage of [sft, grpo]) addDefaults(stage.properties?.until ?? {}, recipeDefaults.until);
	for (const key of ['scoring', 'evaluate', 'checkpoint', 'log'] as const)
		addDefaults(properties[key] ?? {}, recipeDefaults[key]);
	stages.defaultSnippets = stageSnippets;
	const { $schema, ...rest } = schema;
	const head = { $schema, title: 'Reasoning Lab recipe', allowComments: true, allowTrailingCommas: true };
	return `${JSON.stringify({ ...head, ...rest }, null, '\t')}\n`;
}
