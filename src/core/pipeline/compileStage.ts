import {
	envelopeKeys,
	isRunnerStage,
	type NamedStage,
	type PipelineRecipe,
	type ReferenceKey,
	referenceKeys,
} from '../../protocol/pipelineRecipe.ts';
import type { Recipe } from '../../protocol/recipe.ts';
import { inputsOf, type StageInput } from './pipelineGraph.ts';

/** Where a stage starts. */
export type StageStart = { readonly checkpoint: string } | { readonly model: Recipe['model'] };

/** What a stage takes of others, as absolute paths. */
export interface StageArtefacts {
	readonly start: StageStart;
	/** Files of data and folders of checkpoints, by the key that names them. */
	readonly paths: Readonly<Partial<Record<ReferenceKey, string>>>;
}

/** A stage's own keys: without its envelope, and with paths in place of the stages that it names. */
export function ownSettings(stage: NamedStage, paths: StageArtefacts['paths']): Record<string, unknown> {
	const own: Record<string, unknown> = {};
	for (const [key, value] of Object.entries(stage)) {
		if ((envelopeKeys as readonly string[]).includes(key) || value === undefined) continue;
		const path = paths[key as ReferenceKey];
		if (path === undefined) own[key] = value;
		else {
			const { stage: _, checkpoint: __, ...rest } = value as Record<string, unknown>;
			own[key] = { ...rest, path };
		}
	}
	return own;
}

/** The name of a stage's run. */
export const runNameOf = (recipe: Pick<PipelineRecipe, 'name'>, stage: Pick<NamedStage, 'name'>): string =>
	`${recipe.name}-${stage.name}`;

/**
 * An ordinary recipe of one stage, such as any engine runs: no envelope, no names of stages. Of a stage that the runner does
 * itself, all but the stage: `stages` is then empty.
 */
export function compileStage(recipe: PipelineRecipe, stage: NamedStage, artefacts: StageArtefacts): Recipe {
	const { start, paths } = artefacts;
	const { stages: _, $schema: __, ...shared } = recipe;
	const { dataset, rewards, template, evaluate, seed } = stage;
	return {
		...shared,
		name: runNameOf(recipe, stage),
		model: 'checkpoint' in start ? { path: start.checkpoint } : start.model,
		...(dataset === undefined ? {} : { dataset }),
		...(rewards === undefined ? {} : { rewards }),
		...(template === undefined ? {} : { template }),
		...(evaluate === undefined ? {} : { evaluate: { ...shared.evaluate, ...evaluate } }),
		...(seed === undefined ? {} : { seed }),
		stages: isRunnerStage(stage.type) ? [] : [ownSettings(stage, paths) as unknown as Recipe['stages'][number]],
	};
}

/**
 * Where a stage starts by its keys alone: the input whose checkpoint it is, or a model. A stage that was skipped passes on
 * where it would have started itself.
 * @param skipped names of the stages that were skipped
 */
export function startOf(
	recipe: PipelineRecipe,
	stage: NamedStage,
	skipped: ReadonlySet<string>,
): { readonly input: StageInput } | { readonly model: Recipe['model'] } {
	const input = inputsOf(stage).find(({ key }) => key === 'from');
	if (input === undefined) return { model: stage.model ?? recipe.model };
	const other = recipe.stages.find(({ name }) => name === input.stage);
	if (other !== undefined && skipped.has(other.name)) return startOf(recipe, other, skipped);
	return { input };
}

/** What stands in for artefacts that are not there yet, so that a stage can be checked before others have run. */
export function placeholders(recipe: PipelineRecipe, stage: NamedStage): StageArtefacts {
	const start = startOf(recipe, stage, new Set());
	const paths: Partial<Record<ReferenceKey, string>> = {};
	for (const { key, stage: other } of inputsOf(stage)) {
		if (key === 'from' || key === 'skipIf') continue;
		const kind = referenceKeys[key];
		paths[key] = kind === 'checkpoint' ? `./${other}/checkpoint` : `./${other}/data/${kind}.jsonl`;
	}
	return {
		start: 'model' in start ? start : { checkpoint: `./${start.input.stage}/checkpoint` },
		paths,
	};
}
