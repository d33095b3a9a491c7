import type { GrpoStage, Recipe, RlooStage } from '../../protocol/recipeKeys/recipe.ts';
import type { Task } from '../dataset/problem.ts';
import { filledStage } from './filledStage.ts';
import type { PathFault, Report } from './pathFault.ts';

/** Reports stages that cannot train on policy-posed problems, and a reward for such problems if no stage poses any. */
export function checkProposals(recipe: Recipe, task: Task | null | undefined, report: Report): void {
	const own = recipe.rewards.findIndex((reward) => 'use' in reward && reward.use === 'learnability');
	const places = recipe.stages.flatMap((stage, i) =>
		(stage.type === 'grpo' || stage.type === 'rloo') && stage.proposals !== undefined ? [{ stage, i }] : [],
	);
	if (own >= 0 && places.length === 0) {
		report(
			['rewards', own],
			'The reward "learnability" applies to stages with "proposals". Remove it, or add the key.',
		);
	}
	for (const { stage, i } of places) {
		const place = (key: string): PathFault['path'] => ['stages', i, key];
		if (own < 0) {
			report(place('proposals'), '"proposals" requires the reward { "use": "learnability" }. Add it to "rewards".');
		} else if (recipe.rewards.length === 1) {
			report(['rewards', own], '"learnability" requires another reward, which judges the answers. Add "accuracy".');
		} else if (recipe.rewards.every((reward, at) => at === own || reward.weight === 0)) {
			report(
				['rewards'],
				'Every reward for answers has weight 0, so "proposals" would not train on answers. Raise a weight.',
			);
		}
		const { dataset, model } = recipe;
		// A stage on its own can also continue another pipeline stage, which has its own data.
		if (i > 0 && !('path' in model) && 'task' in dataset && !(Number(dataset.proposed) > 0)) {
			const key = '"proposed" to "dataset", such as 0.3';
			report(place('proposals'), `A new model has not learned to pose problems. Add ${key}, and an sft stage.`);
		}
		if (recipe.environment !== undefined) {
			report(place('proposals'), '"proposals" is not available for episodes. Remove it, or remove "environment".');
		} else if (task?.proposals === undefined && task !== undefined) {
			const name = task === null ? 'Problems from files' : `Problems for the task "${task.name}"`;
			report(
				place('proposals'),
				`${name} cannot be posed by the policy, because nothing checks them. Remove "proposals", or use the task "addition", "arithmetic" or "countdown".`,
			);
		}
		checkStage(stage, place, report);
	}
}

function checkStage(stage: GrpoStage | RlooStage, place: (key: string) => PathFault['path'], report: Report): void {
	for (const key of ['curriculum', 'dynamic_sampling'] as const) {
		const value = key in stage ? stage[key as keyof typeof stage] : undefined;
		if (value === undefined || value === false) continue;
		report(
			place(key),
			`"${key}" chooses problems from the data, which "proposals" does not use. Remove one of the two keys.`,
		);
	}
	const { prompts_per_step, num_generations } = filledStage(stage);
	const unit = 1 + num_generations;
	if (prompts_per_step % unit === 0) return;
	const below = Math.floor(prompts_per_step / unit) * unit;
	report(
		place('prompts_per_step'),
		`With "proposals", a group of ${num_generations} proposals is followed by up to ${num_generations} groups that solve them, ` +
			`so "prompts_per_step" must be a multiple of ${unit}: set it to ${below > 0 ? `${below} or ` : ''}${below + unit}.`,
	);
}
