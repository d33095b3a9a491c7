/**
 * Failures planted in embedded engine runs as recipe edits. All runs with the same seed start from the same policy for
 * 2-digit sums, which solves a third of them (`cold`) or nearly all of them (`solved`). `base` contains edits that also
 * apply to the control.
 */
import type { RecipeEdit } from '../../../src/protocol/alert.ts';

/** Metric that the failure reduces; higher is better. */
export type Measure = 'held-out' | 'informative' | 'one-language' | 'scored';

export interface Kind {
	readonly name: string;
	readonly start: 'cold' | 'solved' | 'collapsed' | 'bilingual';
	readonly base: readonly RecipeEdit[];
	readonly plant: readonly RecipeEdit[];
	/** Ids of alerts that name the planted cause. */
	readonly names: readonly string[];
	readonly measure: Measure;
}

const stage = (key: string, value: unknown): RecipeEdit => ({ path: ['stages', 0, key], value });
const reward = (value: unknown): RecipeEdit => ({ path: ['rewards', 2], value });
const file = (name: string, weight: number) => reward({ file: `${name}.reward.ts`, weight });
const sums = (digits: number): RecipeEdit => ({ path: ['dataset'], value: { task: 'addition', digits } });
const rowsOf = (path: string): RecipeEdit => ({ path: ['dataset'], value: { path, heldOut: 'held-out.jsonl' } });

export const kinds: readonly Kind[] = [
	{
		name: 'learning-rate-high',
		start: 'cold',
		base: [],
		plant: [stage('learning_rate', 3e-3)],
		names: ['learning-rate-high'],
		measure: 'held-out',
	},
	{
		name: 'learning-rate-low',
		start: 'cold',
		base: [],
		plant: [stage('learning_rate', 3e-7)],
		names: ['learning-rate-low'],
		measure: 'held-out',
	},
	{
		name: 'beta-high',
		start: 'cold',
		base: [],
		plant: [stage('beta', 5)],
		names: ['beta-high'],
		measure: 'held-out',
	},
	{
		name: 'drift-without-kl',
		start: 'cold',
		base: [stage('beta', 0)],
		plant: [stage('learning_rate', 2e-3)],
		names: ['learning-rate-high:no-kl'],
		measure: 'held-out',
	},
	{
		name: 'epsilon-low',
		start: 'cold',
		base: [
			stage('num_iterations', 8),
			stage('steps', 320),
			stage('learning_rate', 1e-4),
			{ path: ['evaluate', 'every'], value: 80 },
		],
		plant: [stage('epsilon', 1e-5)],
		names: ['epsilon-low'],
		measure: 'held-out',
	},
	{
		name: 'too-hard',
		start: 'cold',
		base: [],
		plant: [sums(4)],
		names: ['dead-groups:too-hard'],
		measure: 'informative',
	},
	{
		name: 'too-easy',
		start: 'solved',
		base: [],
		plant: [sums(1)],
		names: ['dead-groups:solved'],
		measure: 'informative',
	},
	{
		name: 'format-dominates',
		start: 'cold',
		base: [],
		plant: [file('format_style', 20)],
		names: ['dominant-reward:format_style'],
		measure: 'held-out',
	},
	{
		name: 'length-hack',
		start: 'cold',
		base: [],
		plant: [reward({ use: 'length-target', target: 60, weight: 150 })],
		names: ['dominant-reward:length-target', 'reward-hacking:eval/heldout/accuracy', 'length-drift:longer'],
		measure: 'held-out',
	},
	{
		name: 'language-mix',
		start: 'bilingual',
		base: [
			{ path: ['dataset'], value: { task: 'bilingual', digits: 2, style: 'full' } },
			reward({ use: 'language-consistency', language: 'en', weight: 1 }),
		],
		plant: [{ path: ['rewards', 2] }],
		names: ['language-mix'],
		measure: 'one-language',
	},
	{
		name: 'wrong-answer-key',
		start: 'solved',
		base: [rowsOf('right.jsonl')],
		plant: [rowsOf('wrong.jsonl')],
		names: ['wrong-answers'],
		measure: 'held-out',
	},
	{
		name: 'truncation',
		start: 'cold',
		base: [],
		plant: [stage('max_completion_length', 17)],
		names: ['overlong', 'overlong:squeezed', 'dead-groups:truncated'],
		measure: 'held-out',
	},
	{
		name: 'temperature-low',
		start: 'cold',
		base: [],
		plant: [stage('temperature', 0.05)],
		names: ['dead-groups:alike'],
		measure: 'held-out',
	},
	{
		name: 'entropy-collapse',
		start: 'collapsed',
		base: [],
		plant: [],
		names: ['entropy-collapse'],
		measure: 'informative',
	},
	{
		name: 'noisy-reward',
		start: 'cold',
		base: [],
		plant: [file('quality', 3)],
		names: ['noisy-reward:quality'],
		measure: 'held-out',
	},
	{
		name: 'reward-crash',
		start: 'cold',
		base: [{ path: ['scoring'], value: { pauseAbove: 1 } }],
		plant: [file('check', 0.1)],
		names: ['reward-errors:check'],
		measure: 'scored',
	},
];

/** Runs without a planted failure: four recipes for each of three seeds, twelve in total. */
export const healthy: readonly { readonly name: string; readonly edits: readonly RecipeEdit[] }[] = [
	{ name: 'standard', edits: [] },
	{ name: 'without-kl', edits: [stage('beta', 0)] },
	{ name: 'two-passes', edits: [stage('num_iterations', 2), stage('steps', 120)] },
	{
		name: 'gentle',
		edits: [stage('learning_rate', 1e-4), stage('loss_type', 'dr_grpo'), stage('temperature', 0.9)],
	},
	{ name: 'groups-of-16', edits: [stage('num_generations', 16), stage('prompts_per_step', 6)] },
	{ name: 'groups-of-4', edits: [stage('num_generations', 4), stage('prompts_per_step', 24)] },
	{ name: 'bnpo', edits: [stage('loss_type', 'bnpo'), stage('beta', 0.005)] },
	{ name: 'rows-of-a-file', edits: [rowsOf('right.jsonl')] },
	{ name: 'warmup-and-decay', edits: [stage('lr_scheduler_type', 'cosine'), stage('warmup_steps', 10)] },
	{ name: 'scaled-by-batch', edits: [stage('scale_rewards', 'batch'), stage('epsilon_high', 0.28)] },
	{ name: 'accuracy-alone', edits: [{ path: ['rewards', 1] }] },
	{ name: 'rloo', edits: [stage('type', 'rloo'), stage('learning_rate', 1e-4)] },
];

/** Returns the recipes for one seed. Seeds 1 to 3 together cover each recipe once. */
export const healthyOf = (seed: number) => healthy.filter((_, i) => i % 3 === seed % 3);

/** Reward files for the planted failures. */
export const rewardFiles: Readonly<Record<string, string>> = {
	'format_style.reward.ts': `import type { Reward } from 'reasoning-lab';
export const format_style: Reward = ({ completion }) => {
	const digits = String(completion).match(/\\d/g) ?? [];
	return digits.filter((digit) => Number(digit) % 2 === 0).length / Math.max(1, digits.length);
};
`,
	'quality.reward.ts': `import type { Reward } from 'reasoning-lab';
export const quality: Reward = () => 2 * Math.random() - 1;
`,
	'check.reward.ts': `import type { Reward } from 'reasoning-lab';
export const check: Reward = ({ completion }) => {
	if (/[02468]<\\/answer>/.test(String(completion))) throw new Error('cannot read an even answer');
	return 1;
};
`,
};
