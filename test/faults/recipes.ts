import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Random } from '../../src/base/random.ts';

export interface SmallRecipe {
	readonly recipe: object;
	/** File contents by name in the recipe's folder. */
	readonly files: Readonly<Record<string, string>>;
}

const lines = (values: readonly object[]) => values.map((value) => JSON.stringify(value)).join('\n');

const sums = Array.from({ length: 100 }, (_, i) => [i % 10, Math.floor(i / 10)] as const);

const base = {
	name: 'small',
	workers: 1,
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2, context: 48 },
	evaluate: { every: 6, problems: 8 },
};
const cold = { type: 'sft', steps: 12, learning_rate: 1e-2, batch_size: 16 };
const sampled = { num_generations: 4, prompts_per_step: 4, max_completion_length: 12, learning_rate: 1e-3 };
/** Reward that every completion partly earns, so that no group is dead. */
const dense = [{ use: 'length-target', target: 3, range: 4 }];

const pairs = lines(sums.map(([a, b]) => ({ prompt: `${a}+${b}=`, chosen: `${a}`, rejected: `${b}${a}${b}` })));
/** A step is correct if its sum is; one digit decides this. */
const labels = lines(
	sums.map(([a, b], i) => {
		const stated = (a + b + (i % 3 === 0 ? 1 : 0)) % 10;
		return { prompt: `${a}+${b}=`, completions: [`${stated}`], labels: [stated === (a + b) % 10] };
	}),
);
const teacher = lines(
	sums.map(([a, b]) => ({
		prompt: `${a}+${b}=`,
		answer: `${a + b}`,
		completion: `<think>so ${a + b}</think><answer>${a + b}</answer>`,
	})),
);
const typeScriptReward = `export const brevity = ({ completion }: { completion: string }) => 1 / (3 + completion.length);
brevity.weight = 0.5;
`;
const pythonReward = `def digits(completions, **kwargs):
    return [len(set(c)) / 10.0 for c in completions]
digits.weight = 0.3
`;

/** Recipes that cover every stage type of the embedded engine and every kind of state, with randomly chosen settings. */
export const embeddedRecipes: Readonly<Record<string, (random: Random) => SmallRecipe>> = {
	grpo: (random) => ({
		recipe: {
			...base,
			stages: [
				cold,
				{
					type: 'grpo',
					steps: 14,
					...sampled,
					steps_per_generation: 1 + random.int(2),
					num_iterations: 1 + random.int(2),
					beta: random.int(2) * 0.02,
				},
			],
		},
		files: {},
	}),
	curriculum: (random) => ({
		recipe: {
			...base,
			rewards: dense,
			stages: [
				cold,
				{
					type: 'grpo',
					steps: 10,
					...sampled,
					curriculum: { problems: 12, target: 0.3 },
					max_staleness: random.int(3),
				},
			],
		},
		files: {},
	}),
	'reward files': (random) => ({
		recipe: {
			...base,
			rewards: [{ use: 'accuracy' }, { file: 'brevity.reward.ts' }, { file: 'digits.reward.py' }],
			stages: [
				{ ...cold, steps: 4 },
				{ type: 'grpo', steps: 10, ...sampled, num_iterations: 1 + random.int(2) },
			],
		},
		files: { 'brevity.reward.ts': typeScriptReward, 'digits.reward.py': pythonReward },
	}),
	rloo: (random) => ({
		recipe: {
			...base,
			template: 'plain',
			rewards: dense,
			stages: [{ type: 'rloo', steps: 16, ...sampled, beta: 0.05, steps_per_generation: 1 + random.int(2) }],
		},
		files: {},
	}),
	ppo: (random) => ({
		recipe: {
			...base,
			template: 'plain',
			rewards: dense,
			stages: [
				{
					type: 'ppo',
					steps: 16,
					...sampled,
					num_mini_batches: 2,
					num_ppo_epochs: 1 + random.int(2),
					critic_warmup_steps: random.int(5),
					critic_learning_rate: 1e-2,
				},
			],
		},
		files: {},
	}),
	dpo: (random) => ({
		recipe: {
			...base,
			template: 'plain',
			rewards: [{ use: 'accuracy' }],
			stages: [
				{
					type: 'dpo',
					steps: 20 + random.int(10),
					learning_rate: 3e-3,
					batch_size: 16,
					beta: 0.2,
					pairs: { path: 'pairs.jsonl', heldOutShare: 0.2 },
				},
			],
		},
		files: { 'pairs.jsonl': pairs },
	}),
	'reward-model': (random) => ({
		recipe: {
			...base,
			template: 'plain',
			rewards: [{ use: 'accuracy' }],
			stages: [
				{ ...cold, steps: 3 },
				{
					type: 'reward-model',
					steps: 20 + random.int(10),
					learning_rate: 3e-3,
					batch_size: 16,
					pairs: { path: 'pairs.jsonl', heldOutShare: 0.2 },
				},
			],
		},
		files: { 'pairs.jsonl': pairs },
	}),
	heads: (random) => {
		const head = { learning_rate: 3e-3, prompts_per_step: 4, num_generations: 2, max_completion_length: 20 };
		return {
			recipe: {
				...base,
				stages: [
					{ ...cold, steps: 6 },
					{ type: 'value-model', steps: 10, steps_per_generation: 1 + random.int(2), num_iterations: 2, ...head },
					{ type: 'process-reward-model', steps: 6, split: { text: ';' }, completions: 2, ...head },
				],
			},
			files: {},
		};
	},
	'labeled steps': (random) => ({
		recipe: {
			...base,
			stages: [
				{ ...cold, steps: 6 },
				{
					type: 'process-reward-model',
					steps: 12 + random.int(6),
					learning_rate: 3e-3,
					batch_size: 16,
					labels: { path: 'labels.jsonl', heldOutShare: 0.2 },
				},
			],
		},
		files: { 'labels.jsonl': labels },
	}),
	pretrain: (random) => ({
		recipe: {
			...base,
			stages: [
				{
					type: 'pretrain',
					steps: 24,
					learning_rate: 1e-2,
					batch_size: 12,
					corpus: { path: 'texts.txt' },
					workedShare: random.int(2) * 0.25,
				},
				{ type: 'grpo', steps: 3, ...sampled },
			],
		},
		files: { 'texts.txt': sums.map(([a, b]) => `the ${a} sits by the ${b}.`).join('\n') },
	}),
	distill: (random) => ({
		recipe: {
			...base,
			stages: [
				{ type: 'sft', steps: 12, learning_rate: 1e-2, batch_size: 8, data: { path: 'teacher.jsonl' } },
				{
					type: 'distill',
					steps: 10 + random.int(6),
					learning_rate: 1e-2,
					batch_size: 8,
					data: { path: 'teacher.jsonl' },
					minReward: 1,
				},
			],
		},
		files: { 'teacher.jsonl': teacher },
	}),
	latent: (random) => ({
		recipe: {
			...base,
			dataset: { task: 'graph-path', terms: 2, nodes: 6 },
			model: { layers: 1, width: 16, heads: 2 },
			stages: [
				{
					type: 'sft',
					steps: 14 + random.int(6),
					learning_rate: 1e-2,
					batch_size: 12,
					latent: { stages: 2, steps_per_stage: 4, thoughts_per_step: 2 },
				},
			],
		},
		files: {},
	}),
	proposals: (random) => {
		const proposing = { num_generations: 4, prompts_per_step: 5, learning_rate: 2e-3 };
		return {
			recipe: {
				...base,
				dataset: { task: 'addition', digits: 1, proposed: 0.5 },
				rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.1 }, { use: 'learnability', weight: 0.5 }],
				stages: [
					{ ...cold, steps: 60 },
					{ type: 'grpo', steps: 6, ...proposing, proposals: {}, max_staleness: 1 + random.int(2) },
					{ type: 'rloo', steps: 4, ...proposing, proposals: { invalid_reward: -1 } },
				],
			},
			files: {},
		};
	},
	'rejection-sampling': (random) => ({
		recipe: {
			...base,
			stages: [
				{ ...cold, steps: 80 },
				{
					type: 'rejection-sampling',
					problems: 30 + random.int(10),
					prompts_per_step: 5,
					num_generations: 4,
					max_completion_length: 16,
					keep: { minReward: 0, perProblem: 2 },
				},
				{ type: 'sft', steps: 4, learning_rate: 1e-3, batch_size: 4 },
			],
			evaluate: { every: 1000, problems: 4 },
		},
		files: {},
	}),
};

/** Recipe for TRL's trainers with a model of a few thousand weights. */
export const pytorchRecipe = (random: Random): SmallRecipe => {
	const updates = { learning_rate: 3e-3, lr_scheduler_type: 'linear' };
	const batches = { ...updates, prompts_per_step: 4, num_generations: 4, max_completion_length: 8, beta: 0.02 };
	return {
		recipe: {
			name: 'small',
			engine: 'pytorch',
			device: 'cpu',
			whenBusy: 'share',
			dataset: { task: 'addition', digits: 1 },
			model: { layers: 1, width: 32, heads: 2 },
			pytorch: { microBatch: 4 },
			stages: [
				{ type: 'sft', steps: 8, batch_size: 8, ...updates },
				{ type: 'grpo', steps: 12, steps_per_generation: 2, num_iterations: 1 + random.int(2), ...batches },
				{ type: 'rloo', steps: 6, ...batches },
			],
			evaluate: { every: 6, problems: 8 },
		},
		files: {},
	};
};

/** Writes a recipe and its files, and returns the recipe's path. */
export async function writeRecipe(folder: string, { recipe, files }: SmallRecipe, more: object): Promise<string> {
	const path = join(folder, 'small.recipe.json');
	for (const [name, text] of Object.entries({
		...files,
		'small.recipe.json': JSON.stringify({ ...recipe, ...more }),
	})) {
		await mkdir(dirname(join(folder, name)), { recursive: true });
		await writeFile(join(folder, name), text);
	}
	return path;
}
