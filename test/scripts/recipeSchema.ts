import { toJsonSchema } from '@valibot/to-json-schema';
import { recipeDefaults } from '../../src/core/recipe/recipeDefaults.ts';
import { builtInInfos } from '../../src/core/reward/builtInInfos.ts';
import type { BuiltInRewardName } from '../../src/protocol/builtInRewards.ts';
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
	{
		label: 'Value head (value-model)',
		description: 'How likely a beginning comes to a right answer, for searches; the policy stays as it is',
		body: { type: 'value-model', steps: 200, learning_rate: 0.0005 },
	},
	{
		label: 'Process reward head (process-reward-model)',
		description: 'How good each step is, by completions that go on behind it',
		body: { type: 'process-reward-model', steps: 200, split: 'lines', learning_rate: 0.0005 },
	},
];

/** What each built-in reward needs besides its name. */
const rewardBodies: Readonly<Partial<Record<BuiltInRewardName, object>>> = {
	'soft-overlong': { maxLength: 512, cacheLength: 128 },
	'length-target': { target: 200 },
	'cosine-length': { maxLength: 512 },
	'json-schema': { schema: { type: 'object' } },
	judge: { url: 'http://127.0.0.1:8000/v1', model: '' },
	process: { model: '' },
};

const rewardSnippets = builtInInfos.map(({ name, title, sentence }) => ({
	label: `${title} (${name})`,
	description: sentence,
	body: { use: name, weight: 1, ...rewardBodies[name] },
}));

/** The text of media/schemas/recipe.schema.json: completion, hover and errors of recipes, from the decoder that reads them. */
export function recipeSchemaText(): string {
	const schema = toJsonSchema(recipeSchema, { typeMode: 'input', errorMode: 'throw' }) as Schema;
	const properties = schema.properties ?? {};
	const stages = properties.stages?.items;
	const [sft, grpo, value, process] = stages?.anyOf ?? stages?.oneOf ?? [];
	if (!stages || !sft || !grpo || !value || !process) {
		throw new Error('The recipe schema has no four kinds of stages any more.');
	}
	addDefaults(sft, { ...recipeDefaults.optimiser, ...recipeDefaults.sft });
	addDefaults(grpo, { ...recipeDefaults.optimiser, ...recipeDefaults.grpo });
	for (const [stage, own] of [
		[value, recipeDefaults['value-model']],
		[process, recipeDefaults['process-reward-model']],
	] as const) {
		addDefaults(stage, { ...recipeDefaults.optimiser, ...recipeDefaults.head, ...own });
		addDefaults(stage.properties?.labels ?? {}, recipeDefaults.labels);
	}
	for (const stage of [sft, grpo]) addDefaults(stage.properties?.until ?? {}, recipeDefaults.until);
	for (const key of ['scoring', 'evaluate', 'checkpoint', 'log'] as const)
		addDefaults(properties[key] ?? {}, recipeDefaults[key]);
	stages.defaultSnippets = stageSnippets;
	const rewards = properties.rewards?.items;
	if (!rewards) throw new Error('The recipe schema has no list of rewards any more.');
	rewards.defaultSnippets = rewardSnippets;
	const { $schema, ...rest } = schema;
	const head = { $schema, title: 'Reasoning Lab recipe', allowComments: true, allowTrailingCommas: true };
	return `${JSON.stringify({ ...head, ...rest }, null, '\t')}\n`;
}
