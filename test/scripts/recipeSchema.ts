import { toJsonSchema } from '@valibot/to-json-schema';
import { builtInInfos } from '../../src/core/reward/builtInInfos.ts';
import type { BuiltInRewardName } from '../../src/protocol/recipeKeys/builtInRewards.ts';
import { grpoStageSchema } from '../../src/protocol/recipeKeys/groupStages.ts';
import { defaultsOf, isConstant } from '../../src/protocol/recipeKeys/keyDefaults.ts';
import { pipelineRecipeSchema } from '../../src/protocol/recipeKeys/pipelineRecipe.ts';
import type { DefaultFacts, KeySchema } from '../../src/protocol/recipeKeys/recipeKey.ts';

const batch = defaultsOf(grpoStageSchema);

/** The parts of a JSON schema object that are modified here. */
interface Schema {
	[key: string]: unknown;
	properties?: Record<string, Schema>;
	items?: Schema;
	anyOf?: Schema[];
	oneOf?: Schema[];
	definitions?: Record<string, Schema>;
}

/** Returns `(default 8)`, or `(default: epsilon)` for rules, or '' for objects, whose keys have their own defaults. */
function defaultWords({ default: value, or }: Partial<DefaultFacts<unknown>>): string {
	if (or !== undefined) return ` (default: ${or})`;
	if (typeof value === 'object' && value !== null && 'same' in value) return ` (default: ${value.same})`;
	return typeof value === 'object' || !isConstant(value) ? '' : ` (default ${JSON.stringify(value)})`;
}

/** Adds a key's default to its JSON schema, both for completion and in the description. */
function withDefault(schema: Schema, facts: Partial<DefaultFacts<unknown>>): Schema {
	const { description } = schema;
	const value = 'default' in facts ? facts.default : schema.default;
	const words =
		typeof description === 'string'
			? description.replace(/\.?$/, `${defaultWords({ ...facts, default: value })}.`)
			: undefined;
	const offered = isConstant(value) && value !== null && JSON.stringify(value) !== '{}';
	return { ...schema, ...(words ? { description: words } : {}), ...(offered ? { default: value } : {}) };
}

const stageSnippets = [
	{
		label: 'Base model (pretrain)',
		description: 'Next-token prediction on whole documents, including some worked solutions',
		body: { type: 'pretrain', steps: 1000, learning_rate: 0.001, batch_size: 64, workedShare: 0.05 },
	},
	{
		label: 'Cold start (sft)',
		description: 'Imitation of worked solutions until the format is learned',
		body: { type: 'sft', steps: 200, until: { heldOutAccuracy: 0.3 }, learning_rate: 0.001, batch_size: 64 },
	},
	{
		label: 'Reinforcement learning (grpo)',
		description: 'Group relative policy optimization',
		body: {
			type: 'grpo',
			steps: 400,
			num_generations: batch.num_generations,
			prompts_per_step: batch.prompts_per_step,
			learning_rate: 0.0001,
			epsilon_high: 0.28,
		},
	},
	{
		label: 'Reinforcement learning with a critic (ppo)',
		description: 'Proximal policy optimization: per-token advantages from a critic that is trained with the policy',
		body: { type: 'ppo', steps: 400, learning_rate: 0.0001, critic_learning_rate: 0.0005, critic_warmup_steps: 20 },
	},
	{
		label: 'Leave-one-out REINFORCE (rloo)',
		description: 'A simpler baseline than group normalization, with the KL term in the reward',
		body: { type: 'rloo', steps: 400, learning_rate: 0.0001 },
	},
	{
		label: 'Preferences (dpo)',
		description: 'Direct preference optimization on pairs of a chosen and a rejected completion',
		body: { type: 'dpo', steps: 200, pairs: { path: 'data/pairs.jsonl' }, learning_rate: 0.000005 },
	},
	{
		label: 'Reward model (reward-model)',
		description: 'Bradley-Terry on pairs; the policy does not change',
		body: { type: 'reward-model', steps: 200, pairs: { path: 'data/pairs.jsonl' }, learning_rate: 0.00001 },
	},
	{
		label: "A teacher's completions (distill)",
		description: 'Imitation of completions from a file, filtered by the rewards',
		body: { type: 'distill', steps: 200, data: { path: 'data/teacher.jsonl' }, minReward: 1, learning_rate: 0.00001 },
	},
	{
		label: "A teacher's logits (distill)",
		description: 'Embedded engine: the distributions of a larger model with the same vocabulary',
		body: { type: 'distill', steps: 400, teacher: { path: 'teacher' }, temperature: 2, learning_rate: 0.001 },
	},
	{
		label: 'Rejection sampling (rejection-sampling)',
		description: 'Samples completions from the policy; the correct ones become training data',
		body: { type: 'rejection-sampling', problems: 1000, num_generations: 4, keep: { correct: true } },
	},
	{
		label: 'Value head (value-model)',
		description: 'How likely a prefix is to lead to a correct answer, for searches; the policy does not change',
		body: { type: 'value-model', steps: 200, learning_rate: 0.0005 },
	},
	{
		label: 'Process reward head (process-reward-model)',
		description: 'How good each step is, estimated from completions that continue it',
		body: { type: 'process-reward-model', steps: 200, split: 'lines', learning_rate: 0.0005 },
	},
	{
		label: 'Search data (search)',
		description: 'Pipeline stage: searches with the policy of another stage, whose results become training data',
		body: { name: 'search', type: 'search', from: '', strategy: 'best-of-n', export: ['completions'] },
	},
	{
		label: 'Evaluation (evaluate)',
		description: 'Pipeline stage: pass@1, pass@k, and cons@k for the policy of another stage',
		body: { name: 'evaluate', type: 'evaluate', from: '', problems: 256, samples: 4 },
	},
];

const loopSnippet = {
	label: 'Rounds (loop)',
	description: 'Expert iteration: repeated stages, where each round starts from the policy of the previous one',
	body: {
		loop: 'round',
		times: 3,
		stages: [
			{ name: 'search', type: 'search', from: { previous: 'learn', first: '' }, params: { n: 8 }, keep: 'correct' },
			{ name: 'learn', type: 'sft', from: '', data: { stage: 'search' }, steps: 100, learning_rate: 0.001 },
			{ name: 'measure', type: 'evaluate', from: 'learn', samples: 8 },
		],
	},
};

/** Keys of each built-in reward besides its name. */
const rewardBodies: Readonly<Partial<Record<BuiltInRewardName, object>>> = {
	'soft-overlong': { maxLength: 512, cacheLength: 128 },
	'length-target': { target: 200 },
	'cosine-length': { maxLength: 512 },
	'json-schema': { schema: { type: 'object' } },
	judge: { url: 'http://127.0.0.1:8000/v1', model: '' },
	process: { model: '' },
	'reward-model': { path: '' },
};

const rewardSnippets = builtInInfos.map(({ name, title, sentence }) => ({
	label: `${title} (${name})`,
	description: sentence,
	body: { use: name, weight: 1, ...rewardBodies[name] },
}));

/**
 * Returns the contents of media/schemas/recipe.schema.json, which provides completion, hovers and errors for recipes,
 * generated from their decoder.
 */
export function recipeSchemaText(): string {
	const schema = toJsonSchema(pipelineRecipeSchema, {
		typeMode: 'input',
		errorMode: 'throw',
		overrideSchema: ({ valibotSchema, jsonSchema }) => {
			const { facts } = valibotSchema as unknown as KeySchema;
			return facts === undefined ? undefined : (withDefault(jsonSchema as Schema, facts) as never);
		},
	}) as Schema;
	const properties = schema.properties ?? {};
	const entries = properties.stages?.items;
	const [stages, loop] = entries?.anyOf ?? [];
	const ofLoop = loop?.properties?.stages;
	if (!entries || !stages || !ofLoop) throw new Error('The recipe schema no longer has a list of stages and loops.');
	stages.defaultSnippets = stageSnippets;
	// Define stages once, because they occur both in the recipe and in its loops.
	const stage = { $ref: '#/definitions/stage' };
	entries.anyOf = [stage, { ...loop, defaultSnippets: [loopSnippet] }];
	ofLoop.items = stage;
	const rewards = properties.rewards?.items;
	if (!rewards) throw new Error('The recipe schema no longer has a list of rewards.');
	rewards.defaultSnippets = rewardSnippets;
	const { $schema, ...rest } = schema;
	const head = { $schema, title: 'Reasoning Lab recipe', allowComments: true, allowTrailingCommas: true };
	return `${JSON.stringify({ ...head, ...rest, definitions: { stage: stages } }, null, '\t')}\n`;
}
