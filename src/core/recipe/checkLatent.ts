import type { Recipe, SftStage } from '../../protocol/recipeKeys/recipe.ts';
import { latentTags } from '../text/latentTags.ts';
import { type Template, templateTags } from '../text/template.ts';
import type { PathFault, Report } from './pathFault.ts';

/** Reports latent thoughts that cannot be trained, or that a later stage would not use. */
export function checkLatent(recipe: Recipe, template: Template | null, report: Report): void {
	const { stages, engine } = recipe;
	for (const [i, stage] of stages.entries()) {
		if (stage.type !== 'sft' || stage.latent === undefined) continue;
		const place = (...keys: string[]): PathFault['path'] => ['stages', i, ...keys];
		checkStage(stage, place, report);
		if (i < stages.length - 1) {
			const next = stages[i + 1]?.type;
			report(
				place('latent'),
				`After "latent", the policy thinks in latent thoughts, but the next stage ("${next}") does not use them. Make this the last stage.`,
			);
		}
		if (recipe.environment !== undefined) {
			report(place('latent'), '"latent" is not available for episodes. Remove it, or remove "environment".');
		}
		// Other engines report the key itself.
		if (engine === 'embedded' && recipe.device !== 'cpu') {
			report(place('latent'), 'Latent thoughts are computed on the CPU. Add "device": "cpu" to the recipe.');
		}
		if (template === null) continue;
		if (template.think === null) {
			report(place('latent'), 'The template has no think tags, so there are no steps to replace. Remove "latent".');
		} else if (template.prompt.includes(template.think[0])) {
			report(
				['template'],
				`The template's prompt contains "${template.think[0]}", so it is unclear where latent thoughts belong. Use a template whose prompt does not, such as "r1".`,
			);
		}
		const taken = latentTags.find((tag) => templateTags(template).includes(tag));
		if (taken !== undefined) {
			report(['template'], `The tag "${taken}" is used for latent thoughts. Choose another one.`);
		}
	}
}

function checkStage(stage: SftStage, place: (...keys: string[]) => PathFault['path'], report: Report): void {
	const { latent, data, steps, until } = stage;
	if (latent === undefined) return;
	if (data !== undefined) {
		report(
			place('latent'),
			'"latent" replaces steps of worked solutions in the dataset, but "data" specifies completions. Remove one of them.',
		);
	}
	if (until !== undefined) {
		report(
			place('until'),
			'"until" could end the stage while some steps are still written as text. Remove it, or remove "latent".',
		);
	}
	const before = latent.stages * latent.steps_per_stage;
	if (before < steps) return;
	report(
		place('latent', 'steps_per_stage'),
		`Latent stage ${latent.stages} (the last one) would start after ${before} updates, but "steps" is ${steps}. Lower "steps_per_stage", or raise "steps".`,
	);
}
