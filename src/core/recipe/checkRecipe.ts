import type { Recipe, TaskDataset } from '../../protocol/recipeKeys/recipe.ts';
import { createTask } from '../dataset/createTask.ts';
import { resolveTemplate } from '../text/template.ts';
import { checkBatches } from './checkBatches.ts';
import { checkEmbedded } from './checkEmbedded.ts';
import { checkEngine } from './checkEngine.ts';
import { checkEnvironment } from './checkEnvironment.ts';
import { checkImitation } from './checkImitation.ts';
import { checkLatent } from './checkLatent.ts';
import { checkModel } from './checkModel.ts';
import { checkPictures } from './checkPictures.ts';
import { checkProposals } from './checkProposals.ts';
import { checkPytorch } from './checkPytorch.ts';
import { checkRewards } from './checkRewards.ts';
import { checkStages } from './checkStages.ts';
import { attempt, type PathFault, type Report } from './pathFault.ts';
import { sequenceLengths } from './sequenceLengths.ts';

export type { PathFault } from './pathFault.ts';

/** Finds conflicts between recipe keys. If the result is empty, the recipe can be resolved. */
export function checkRecipe(recipe: Recipe): PathFault[] {
	const faults: PathFault[] = [];
	const report: Report = (path, message) => faults.push({ path, message });
	checkName(recipe.name, report);
	const template = attempt(report, ['template'], () => resolveTemplate(recipe.template));
	const { dataset } = recipe;
	const task = 'task' in dataset ? attempt(report, ['dataset'], () => createTask(dataset as TaskDataset)) : null;
	const lengths = task && template ? sequenceLengths(task, template) : null;
	checkDataset(recipe, report);
	checkRewards(recipe, template, report);
	checkEnvironment(recipe, report);
	checkPictures(recipe, report);
	checkStages(recipe, report);
	checkProposals(recipe, task, report);
	checkImitation(recipe, task, report);
	checkLatent(recipe, template, report);
	checkModel(recipe, lengths, report);
	checkEngine(recipe, report);
	if (recipe.engine === 'embedded') checkEmbedded(recipe, report);
	else {
		checkPytorch(recipe, report);
		checkBatches(recipe, report);
	}
	return faults;
}

function checkDataset({ dataset }: Recipe, report: Report): void {
	if ('task' in dataset || dataset.path !== undefined || dataset.preset !== undefined) return;
	report(['dataset'], '"dataset" specifies no data. Add "task", "path", or "preset".');
}

function checkName(name: string, report: Report): void {
	// The name is used in run folder names.
	if (name.length > 80)
		report(['name'], `"name" has ${name.length} characters, but it is used in folder names. Use at most 80.`);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters intentionally
	else if (/[\\/:*?"<>|\u0000-\u001f]/.test(name) || /^[.\s]|[.\s]$/.test(name)) {
		report(
			['name'],
			'"name" is not a valid folder name. Remove \\ / : * ? " < > | and any leading or trailing dots and spaces.',
		);
	}
}
