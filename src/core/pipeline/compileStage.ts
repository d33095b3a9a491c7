import {
	type DataKind,
	envelopeKeys,
	isRunnerStage,
	type ListReferenceKey,
	listReferenceKeys,
	type NamedStage,
	type PipelineRecipe,
	type ReferenceKey,
	referenceKeys,
} from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { inputsOf, placeOf, type StageInput } from './pipelineGraph.ts';

/** Starting point of a stage. */
export type StageStart = { readonly checkpoint: string } | { readonly model: Recipe['model'] };

/** Artifacts that a stage uses from other stages, as absolute paths. */
export interface StageArtifacts {
	readonly start: StageStart;
	/** Data files and checkpoint folders, by the key that references them: `data`, `extra.0`. */
	readonly paths: Readonly<Record<string, string>>;
}

/** Replaces a stage reference in a value with a path. */
function withPath(value: unknown, path: string): unknown {
	const { stage: _, checkpoint: __, ...rest } = value as Record<string, unknown>;
	return { ...rest, path };
}

/** Returns the value of a key, with stage references in the value or its entries replaced by paths. */
function withPaths(key: string, value: unknown, paths: StageArtifacts['paths']): unknown {
	if (Array.isArray(value) && Object.hasOwn(listReferenceKeys, key)) {
		return value.map((entry: unknown, index) => {
			const path = paths[`${key}.${index}`];
			return path === undefined ? entry : withPath(entry, path);
		});
	}
	const path = Object.hasOwn(referenceKeys, key) ? paths[key] : undefined;
	return path === undefined ? value : withPath(value, path);
}

/** Returns the type-specific keys of a stage, without its envelope and with stage references replaced by paths. */
export function ownSettings(stage: NamedStage, paths: StageArtifacts['paths']): Record<string, unknown> {
	const own: Record<string, unknown> = {};
	for (const [key, value] of Object.entries(stage)) {
		if ((envelopeKeys as readonly string[]).includes(key) || value === undefined) continue;
		own[key] = withPaths(key, value, paths);
	}
	return own;
}

/** Returns the run name for a stage. */
export const runNameOf = (recipe: Pick<PipelineRecipe, 'name'>, stage: Pick<NamedStage, 'name'>): string =>
	`${recipe.name}-${stage.name}`;

/**
 * Compiles a stage into an ordinary single-stage recipe that any engine can run, without an envelope or stage names. If
 * the runner executes the stage itself, `stages` is empty.
 */
export function compileStage(recipe: PipelineRecipe, stage: NamedStage, artifacts: StageArtifacts): Recipe {
	const { start, paths } = artifacts;
	const { stages: _, $schema: __, compare: ___, ...shared } = recipe;
	const { dataset, rewards, template, evaluate, seed } = stage;
	return {
		...shared,
		name: runNameOf(recipe, stage),
		model: 'checkpoint' in start ? { path: start.checkpoint } : start.model,
		...(dataset === undefined ? {} : { dataset }),
		...(rewards === undefined ? {} : { rewards: withPaths('rewards', rewards, paths) as Recipe['rewards'] }),
		...(template === undefined ? {} : { template }),
		...(evaluate === undefined ? {} : { evaluate: { ...shared.evaluate, ...evaluate } }),
		...(seed === undefined ? {} : { seed }),
		stages: isRunnerStage(stage.type) ? [] : [ownSettings(stage, paths) as unknown as Recipe['stages'][number]],
	};
}

/**
 * Returns where a stage starts, based on its keys alone: an input that provides a checkpoint, or a model. A skipped
 * stage passes on its own starting point; in a loop, it passes on that of the same stage in the last round that was not
 * skipped.
 * @param skipped names of skipped stages
 */
export function startOf(
	recipe: PipelineRecipe,
	stage: NamedStage,
	skipped: ReadonlySet<string>,
): { readonly input: StageInput } | { readonly model: Recipe['model'] } {
	const input = inputsOf(stage).find(({ key }) => key === 'from');
	if (input === undefined) return { model: stage.model ?? recipe.model };
	const other = recipe.stages.find(({ name }) => name === input.stage);
	if (other === undefined || !skipped.has(other.name)) return { input };
	const last = roundBefore(recipe, other, skipped);
	return last === null ? startOf(recipe, other, skipped) : { input: { ...input, stage: last.name } };
}

/** Returns the same stage in the most recent earlier round that was not skipped. */
function roundBefore(recipe: PipelineRecipe, { round }: NamedStage, skipped: ReadonlySet<string>): NamedStage | null {
	if (round === undefined) return null;
	const before = recipe.stages.filter(
		({ name, round: own }) => own?.of === round.of && own.number < round.number && !skipped.has(name),
	);
	return before.sort((a, b) => (b.round?.number ?? 0) - (a.round?.number ?? 0))[0] ?? null;
}

/** Returns the type of output that a key uses from the stage it references. */
export function takenBy(key: ReferenceKey | ListReferenceKey): DataKind | 'checkpoint' {
	return { ...referenceKeys, ...listReferenceKeys }[key];
}

/** Returns placeholders for artifacts that do not exist yet, so that a stage can be checked before earlier ones run. */
export function placeholders(recipe: PipelineRecipe, stage: NamedStage): StageArtifacts {
	const start = startOf(recipe, stage, new Set());
	const paths: Record<string, string> = {};
	for (const input of inputsOf(stage)) {
		const { key, stage: other } = input;
		if (key === 'from' || key === 'skipIf') continue;
		const kind = takenBy(key);
		paths[placeOf(input)] = kind === 'checkpoint' ? `./${other}/checkpoint` : `./${other}/data/${kind}.jsonl`;
	}
	return {
		start: 'model' in start ? start : { checkpoint: `./${start.input.stage}/checkpoint` },
		paths,
	};
}
