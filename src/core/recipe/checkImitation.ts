import type { Recipe } from '../../protocol/recipe.ts';
import type { Task } from '../dataset/problem.ts';
import type { Report } from './pathFault.ts';
import { recipeDefaults } from './recipeDefaults.ts';

/** What stages learn from that imitate, as far as the recipe tells. @param task of the dataset; null: rows of a file */
export function checkImitation({ stages, dataset }: Recipe, task: Task | null, report: Report): void {
	for (const [i, stage] of stages.entries()) {
		if (stage.type !== 'pretrain' || stage.corpus !== undefined) continue;
		if ((stage.workedShare ?? recipeDefaults.pretrain.workedShare) === 1) continue;
		if (task === null ? 'task' in dataset : task.text !== undefined) continue;
		const what = task === null ? 'Rows of a file are' : `The task "${task.name}" has`;
		report(
			['stages', i, 'type'],
			`${what} no plain texts to pretrain on: add "corpus", or set "workedShare" to 1 (worked solutions alone).`,
		);
	}
}
