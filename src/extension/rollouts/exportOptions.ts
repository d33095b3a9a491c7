import type { ExportFormat } from '../../core/export/exportFormat.ts';
import type { NeutralLabel } from '../../core/export/prm/trlStepwise.ts';
import type { RolloutSelection } from '../../core/export/selection.ts';
import type { RolloutExport } from '../../runs/rolloutExport.ts';

/** Export options chosen by the user in addition to format and file. */
export interface ExportChoices {
	readonly selection: RolloutSelection;
	readonly rollouts: Pick<RolloutExport, 'form' | 'unique' | 'pairing'>;
	readonly neutral?: NeutralLabel;
	/** Whether to perturb completions; if so, the user is then asked for the type of perturbation. */
	readonly perturbed: boolean;
}

export const noChoices: ExportChoices = { selection: {}, rollouts: {}, perturbed: false };

export interface ExportOption {
	readonly id: string;
	readonly label: string;
	readonly detail: string;
	readonly formats: readonly ExportFormat[];
	apply(choices: ExportChoices): ExportChoices;
}

const choosing = (selection: RolloutSelection) => (choices: ExportChoices) => ({
	...choices,
	selection: { ...choices.selection, ...selection },
});
const writing = (rollouts: ExportChoices['rollouts']) => (choices: ExportChoices) => {
	const pairing = { ...choices.rollouts.pairing, ...rollouts.pairing };
	return { ...choices, rollouts: { ...choices.rollouts, ...rollouts, pairing } };
};

/** Options available as checkboxes; the CLI has more (docs/exports.md). */
export const exportOptions: readonly ExportOption[] = [
	{
		id: 'correct',
		label: 'Correct only',
		detail: 'Completions that the accuracy reward scores as correct',
		formats: ['sft'],
		apply: choosing({ correct: true }),
	},
	{
		id: 'finished',
		label: 'Finished only',
		detail: 'Skip truncated completions',
		formats: ['sft', 'dpo', 'cases'],
		apply: choosing({ truncated: false }),
	},
	{
		id: 'best',
		label: 'Best per group',
		detail: 'Keep the completion with the highest reward for each prompt; the first one wins ties',
		formats: ['sft'],
		apply: choosing({ bestPerGroup: 1 }),
	},
	{
		id: 'unique',
		label: 'No duplicates',
		detail: 'Keep each prompt-completion pair only once',
		formats: ['sft'],
		apply: writing({ unique: true }),
	},
	{
		id: 'pairs',
		label: 'Up to four pairs per group',
		detail: 'Pair best with worst, second best with second worst, and so on; otherwise, export one pair per group',
		formats: ['dpo'],
		apply: writing({ pairing: { perGroup: 4 } }),
	},
	{
		id: 'length',
		label: 'Pairs of similar length',
		detail: 'The longer completion is at most 1.5 times as long, so that length does not reveal the preferred one',
		formats: ['dpo'],
		apply: writing({ pairing: { lengthRatio: 1.5 } }),
	},
	{
		id: 'messages',
		label: 'As messages',
		detail: 'Use TRL’s conversational format (the trainer applies a chat template); otherwise, keep the recorded text',
		formats: ['sft', 'dpo'],
		apply: writing({ form: 'conversational' }),
	},
	{
		id: 'perturbed',
		label: 'Perturbed completions…',
		detail: 'Apply a perturbation from Li et al. 2025 to see what a model learns from the remaining content',
		formats: ['sft'],
		apply: (choices) => ({ ...choices, perturbed: true }),
	},
	{
		id: 'neutral',
		label: 'Neutral steps count as correct',
		detail: 'Otherwise, they count as incorrect, as in TRL’s conversion of PRM800K',
		formats: ['trl-stepwise', 'math-shepherd'],
		apply: (choices) => ({ ...choices, neutral: 'right' }),
	},
];

export function optionsOf(format: ExportFormat): ExportOption[] {
	return exportOptions.filter(({ formats }) => formats.includes(format));
}

export function applyOptions(options: readonly ExportOption[]): ExportChoices {
	return options.reduce((choices, option) => option.apply(choices), noChoices);
}
