import type { DistillStage, PretrainStage, Recipe, RejectionStage } from '../../protocol/recipe/recipe.ts';
import type { Task } from '../dataset/problem.ts';
import { filledStage } from './filledStage.ts';
import type { Report } from './pathFault.ts';

/**
 * Checks the data that imitation stages learn from, to the extent that the recipe specifies it.
 * @param task task of the dataset, or null for rows from a file
 */
export function checkImitation({ stages, dataset }: Recipe, task: Task | null, report: Report): void {
	for (const [i, stage] of stages.entries()) {
		// A task that could not be created is reported separately.
		if (stage.type === 'pretrain' && (task !== null || !('task' in dataset))) checkTexts(stage, i, task, report);
		else if (stage.type === 'distill') checkDistill(stage, i, report);
		else if (stage.type === 'rejection-sampling') checkKeep(stage, i, report);
	}
}

function checkTexts(stage: PretrainStage, index: number, task: Task | null, report: Report): void {
	if (stage.corpus !== undefined || task?.text !== undefined) return;
	if (filledStage(stage).workedShare === 1) return;
	report(
		['stages', index, 'type'],
		`${task === null ? 'File rows have' : `The task "${task.name}" has`} no plain text to pretrain on: ` +
			'add "corpus", or set "workedShare" to 1 (worked solutions only).',
	);
}

function checkKeep({ keep }: RejectionStage, index: number, report: Report): void {
	const { minTokens, maxTokens } = keep ?? {};
	if (minTokens === undefined || maxTokens === undefined || minTokens <= maxTokens) return;
	report(
		['stages', index, 'keep', 'minTokens'],
		`"minTokens" ${minTokens} is greater than "maxTokens" ${maxTokens}, so nothing would be kept. Lower it.`,
	);
}

const ofLogits = [
	'temperature',
	'alpha',
	'beta',
	'on_policy',
	'sampling_temperature',
	'max_completion_length',
] as const;
const ofSampling = ['on_policy', 'sampling_temperature', 'max_completion_length'] as const;

function checkDistill(stage: DistillStage, index: number, report: Report): void {
	const place = (key: string) => ['stages', index, key];
	if (stage.teacher === undefined) {
		if (stage.data === undefined) {
			report(
				place('type'),
				'"distill" has no teacher. Add "data" with completions from the teacher, or "teacher" with its checkpoint.',
			);
		}
		for (const key of ofLogits) {
			if (stage[key] !== undefined)
				report(place(key), `"${key}" applies to the logits of a "teacher". Add a teacher, or remove this key.`);
		}
	} else if (stage.data !== undefined) {
		for (const key of ofSampling) {
			if (stage[key] === undefined) continue;
			report(place(key), `"${key}" applies to sampled completions, but "data" specifies a file. Remove one of them.`);
		}
	}
	if (stage.minReward !== undefined && stage.data === undefined) {
		report(place('minReward'), '"minReward" filters the completions in "data". Add "data", or remove this key.');
	}
}
