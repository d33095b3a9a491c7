import { selfTaught } from '../../protocol/recipeKeys/imitationStages.ts';
import type { DistillStage, PretrainStage, Recipe, RejectionStage } from '../../protocol/recipeKeys/recipe.ts';
import type { Task } from '../dataset/problem.ts';
import { filledStage } from './filledStage.ts';
import type { Report } from './pathFault.ts';

/**
 * Checks the data that imitation stages learn from, to the extent that the recipe specifies it.
 * @param task the dataset's task, or null if its rows come from a file
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
/** Keys that have no effect if the policy is its own teacher. */
const notSelfTaught = ['beta', 'on_policy'] as const;
const ofSampling = ['on_policy', 'sampling_temperature', 'max_completion_length'] as const;

function checkDistill(stage: DistillStage, index: number, report: Report): void {
	const place = (key: string) => ['stages', index, key];
	checkMethod(stage, index, report);
	if (isSelfTaught(stage)) {
		// Has its own checks.
	} else if (stage.teacher === undefined) {
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

function isSelfTaught({ method }: DistillStage): boolean {
	return selfTaught.some((one) => one === method);
}

function checkMethod(stage: DistillStage, index: number, report: Report): void {
	const { method, batch_size, num_generations = 8 } = stage;
	const place = (key: string) => ['stages', index, key];
	if (method === 'minillm' && stage.beta !== undefined) {
		report(place('beta'), '"minillm" minimizes the reverse KL. Remove "beta".');
	}
	if (method !== undefined && stage.data !== undefined) {
		report(place('method'), `"${method}" learns from the student's own samples. Remove "data", or remove this key.`);
	}
	if (isSelfTaught(stage)) {
		if (stage.teacher !== undefined) {
			report(place('teacher'), `With "${method}", the policy is its own teacher. Remove "teacher".`);
		}
		for (const key of notSelfTaught) {
			if (stage[key] !== undefined) report(place(key), `"${key}" does not apply to "${method}". Remove it.`);
		}
	} else if (stage.teacher_model_kind !== undefined) {
		report(place('teacher_model_kind'), '"teacher_model_kind" requires "method" "sdft" or "sdpo".');
	}
	if (method !== 'sdft' && stage.privileged_context !== undefined) {
		report(place('privileged_context'), '"privileged_context" requires "method" "sdft".');
	}
	const rows = batch_size ?? filledStage(stage).batch_size;
	if (method === 'sdpo' && rows % num_generations !== 0) {
		report(
			place('num_generations'),
			`"num_generations" ${num_generations} does not divide the ${rows} completions in a batch ("batch_size").`,
		);
	} else if (method !== 'sdpo' && stage.num_generations !== undefined) {
		report(place('num_generations'), '"num_generations" requires "method" "sdpo".');
	}
}
