import { levelOf } from '../../protocol/recipeKeys/lossTypes.ts';
import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import type { Report } from './pathFault.ts';

/** Finds conflicts between a dataset with images and the rest of a recipe. */
export function checkPictures(recipe: Recipe, report: Report): void {
	const { dataset, engine, template, stages, model, environment, pytorch } = recipe;
	// checkEngine reports the key for the embedded engine.
	if ('task' in dataset || dataset.image === undefined || engine === 'embedded') return;
	const place = ['dataset', 'image'];
	if (engine === 'ray') report(place, 'Only the pytorch engine supports images. Set "engine": "pytorch".');
	if (typeof template !== 'object' || template.chat !== true) {
		report(place, 'Images require a chat template. Add "template": {"prompt": "{prompt}", "chat": true}.');
	}
	if (!('path' in model)) {
		report(['model'], 'New models do not support images. Set the "path" of a vision-language model.');
	}
	if (environment !== undefined) {
		report(['environment'], 'Episodes cannot start with an image from the dataset. Remove "image" or "environment".');
	}
	if (pytorch?.vllm !== undefined) {
		report(['pytorch', 'vllm'], 'Completions for images cannot be sampled with vLLM. Remove "vllm".');
	}
	for (const [i, stage] of stages.entries()) {
		if (stage.type !== 'grpo') {
			report(['stages', i], `Only grpo stages train with images. Remove the ${stage.type} stage.`);
		} else if (levelOf(stage) === 'sequence_token') {
			report(
				['stages', i],
				'TRL\'s trainer for "sequence_token" ignores some inputs of vision models. Use "sequence" or "token".',
			);
		}
	}
}
