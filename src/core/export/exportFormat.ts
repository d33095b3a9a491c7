/** Export formats for rollouts and human feedback. */
export const exportFormats = [
	'sft',
	'dpo',
	'cases',
	'prm800k',
	'trl-stepwise',
	'math-shepherd',
	'processbench',
	'preferences',
] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportFormatInfo {
	/** Display title. */
	readonly title: string;
	readonly detail: string;
	/** Data source: recorded rollouts, human step ratings, or human feedback on entire rollouts. */
	readonly from: 'rollouts' | 'labels' | 'feedback';
	/** Default file name suffix. */
	readonly suffix: string;
}

export const exportFormatInfos: Readonly<Record<ExportFormat, ExportFormatInfo>> = {
	sft: {
		title: 'Supervised fine-tuning',
		detail: 'One example per completion: prompt and completion, for TRL’s SFTTrainer',
		from: 'rollouts',
		suffix: '.sft.jsonl',
	},
	dpo: {
		title: 'Preference pairs (DPO)',
		detail: 'A better and a worse completion for the same prompt: prompt, chosen, rejected',
		from: 'rollouts',
		suffix: '.dpo.jsonl',
	},
	cases: {
		title: 'Labeled reward cases',
		detail: 'Expected rewards for completions, used by verification',
		from: 'rollouts',
		suffix: '.cases.jsonl',
	},
	prm800k: {
		title: 'Step labels (PRM800K)',
		detail: 'Rated steps, one solution per line, in PRM800K format',
		from: 'labels',
		suffix: '.prm800k.jsonl',
	},
	'trl-stepwise': {
		title: 'Step labels for TRL (stepwise supervision)',
		detail: 'Columns prompt, completions and labels, for TRL’s PRMTrainer',
		from: 'labels',
		suffix: '.stepwise.jsonl',
	},
	'math-shepherd': {
		title: 'Step labels (Math-Shepherd)',
		detail: 'Numbered steps that end with the token ки, replaced by + or - in the label',
		from: 'labels',
		suffix: '.shepherd.jsonl',
	},
	processbench: {
		title: 'Step labels (ProcessBench)',
		detail: 'Steps and the index of the first incorrect one',
		from: 'labels',
		suffix: '.processbench.jsonl',
	},
	preferences: {
		title: 'Human preference pairs',
		detail: 'Completions that people rated or compared: prompt, chosen, rejected, for dpo and reward-model',
		from: 'feedback',
		suffix: '.preferences.jsonl',
	},
};
