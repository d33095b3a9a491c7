import type { ForeignRollout } from '../foreignRecord.ts';
import { fieldsOf, integerOf, textOf } from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { eventFileName, namesTag } from './eventFiles.ts';
import { eventMetrics } from './eventMetrics.ts';

/*
 * openrlhf/utils/logging_utils.py, `TensorboardLogger.log_train`: scalars `train/...`, and for one generated sample the
 * text `train/generated_samples/text_summary`: "Sample:", the sample and "Reward: 0.1000", separated by a backslash and
 * an n.
 */

const sampleTag = /generated_samples/;
const sampleForm = /^Sample:(?:\\n|\n)([\s\S]*?)(?:\\n|\n){2}Reward: *(\S+)\s*$/;

/** Reads the one sample per step; other text and scalars are ignored. */
export function openRlhfSample(record: unknown): readonly ForeignRollout[] | string {
	const event = fieldsOf(record);
	const text = textOf(event?.text);
	const step = integerOf(event?.step);
	if (text === null || !sampleTag.test(textOf(event?.tag) ?? '')) return [];
	if (step === null) return 'has no step';
	const match = sampleForm.exec(text);
	if (match === null) return 'does not have the form "Sample: ... Reward: ..."';
	const reward = match[2] === 'nan' || match[2] === 'None' ? null : Number(match[2]);
	return [{ groupKey: step, step, prompt: '', completion: match[1] ?? '', reward }];
}

const places = [eventFileName, `{run}/${eventFileName}`, `tensorboard/{run}/${eventFileName}`];
const tags = /train\/(?:policy_loss|actor_lr|actor_grad_norm|vllm_kl|generated_samples)/;

export const openRlhf: RunFormat = {
	name: 'openrlhf',
	title: 'OpenRLHF',
	looksFor: 'TensorBoard event files with train/policy_loss (--use_tensorboard)',
	hasSteps: true,
	anyFolder: true,
	rollouts: places.map((pattern) => ({ pattern, form: 'events', split: 'train', rollouts: openRlhfSample })),
	metrics: places.map((pattern) => ({ pattern, form: 'events', metrics: eventMetrics })),
	notes: [
		'OpenRLHF writes no rollouts: only the one sample per logged step in its TensorBoard text is shown.',
		'The sample contains the prompt and the completion as a single string, and its reward is rounded to four digits.',
	],
	async recognize(folder) {
		for (const pattern of places) {
			// Several such folders are several runs, each of which must be opened separately.
			if (await namesTag(folder, pattern, tags)) return (await folder.byFolder(pattern, 2)).size < 2;
		}
		return false;
	},
};
