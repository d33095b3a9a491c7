import type { TaskDataset } from '../../protocol/recipeKeys/recipe.ts';
import { type AdditionSettings, additionTask } from './additionTask.ts';
import { type ArithmeticSettings, arithmeticTask } from './arithmeticTask.ts';
import { type BaseConversionSettings, baseConversionTask } from './baseConversionTask.ts';
import { type BilingualSettings, bilingualTask } from './bilingualTask.ts';
import { type CountdownSettings, countdownTask } from './countdownTask.ts';
import { type GraphPathSettings, graphPathTask } from './graphPathTask.ts';
import { type ModularSettings, modularTask } from './modularTask.ts';
import type { Task } from './problem.ts';
import { resolveTaskSettings } from './settings.ts';
import { type SignsSettings, signsTask } from './signsTask.ts';
import { type StringSettings, stringTask } from './stringTask.ts';

/** Creates the task generator for a recipe dataset. Throws `invalid` if its settings are unusable. */
export function createTask(dataset: TaskDataset): Task {
	const settings = resolveTaskSettings(dataset);
	switch (settings.task) {
		case 'addition':
			return additionTask(settings as AdditionSettings);
		case 'arithmetic':
			return arithmeticTask(settings as ArithmeticSettings);
		case 'countdown':
			return countdownTask(settings as CountdownSettings);
		case 'base-conversion':
			return baseConversionTask(settings as BaseConversionSettings);
		case 'string':
			return stringTask(settings as StringSettings);
		case 'modular':
			return modularTask(settings as ModularSettings);
		case 'bilingual':
			return bilingualTask(settings as BilingualSettings);
		case 'signs':
			return signsTask(settings as SignsSettings);
		case 'graph-path':
			return graphPathTask(settings as GraphPathSettings);
	}
}
