import type { Recipe } from '../../protocol/recipe/recipe.ts';
import { isEnvironmentFile } from '../episode/environmentLanguage.ts';
import { processesOf } from './checkBatches.ts';
import type { Report } from './pathFault.ts';

/** Finds conflicts between an environment and the rest of a recipe, and an environment reward in a recipe without an environment. */
export function checkEnvironment(recipe: Recipe, report: Report): void {
	const { environment, rewards, template, stages, engine } = recipe;
	const reward = rewards.findIndex((one) => 'use' in one && one.use === 'environment');
	if (environment === undefined) {
		if (reward >= 0)
			report(['rewards', reward], 'The reward "environment" needs an "environment". Add one to the recipe.');
		return;
	}
	if (!isEnvironmentFile(environment.file)) {
		const words = `"${environment.file}" is not an environment file. Use a *.env.py or *.env.ts file.`;
		report(['environment', 'file'], words);
	}
	if (engine === 'embedded') return;
	if (engine === 'ray' || processesOf(recipe) > 1) {
		report(
			['environment'],
			'Environments require the engine "pytorch" with one process. Set "engine": "pytorch", and use one process.',
		);
	}
	if (typeof template !== 'object' || template.chat !== true) {
		report(
			['environment'],
			'Tool calls are part of a conversation. Add "template": {"prompt": "{prompt}", "chat": true}.',
		);
	}
	for (const [i, { type }] of stages.entries()) {
		if (type === 'rloo') report(['stages', i], 'Only grpo stages train on environments. Use "grpo".');
	}
}
