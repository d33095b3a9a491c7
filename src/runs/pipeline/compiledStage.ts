import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { compileStage, ownSettings, type StageArtifacts } from '../../core/pipeline/compileStage.ts';
import { withContext } from '../../core/pipeline/modelContext.ts';
import { StageFailure } from '../../core/pipeline/stageFailure.ts';
import { writtenPlace } from '../../core/pipeline/writtenPlace.ts';
import { resolveRecipe } from '../../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { isRunnerStage, type NamedStage, type PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { startMark } from '../foreignCode.ts';
import { requireFiles, writeRunFiles } from '../prepareRun.ts';
import { machineOf } from '../recipeMachine.ts';
import { type RewardCopies, readRewardCopies } from '../rewardCopies.ts';
import { RunRegistry } from '../runRegistry.ts';
import { inputHash, type KnownHashes } from './inputHash.ts';

/** A stage whose inputs are available. */
export interface CompiledStage {
	readonly stage: NamedStage;
	readonly recipe: ResolvedRecipe;
	readonly copies: RewardCopies;
	readonly inputHash: string;
}

/**
 * Fails with `missing` or `invalid` for paths in its recipe.
 * @param folder base folder for relative paths
 */
export async function compiledStage(
	pipeline: PipelineRecipe,
	stage: NamedStage,
	artifacts: StageArtifacts,
	folder: string,
	known: KnownHashes,
): Promise<CompiledStage> {
	try {
		const written = withContext(pipeline, stage, compileStage(pipeline, stage, artifacts));
		const resolved = resolveRecipe(written, await machineOf(written, folder));
		await requireFiles(resolved, join(folder, stage.name), {
			place: (key) => writtenPlace(stage, [], key) ?? key,
			name: `the stage "${stage.name}"`,
		}).catch((error: unknown) => {
			throw StageFailure.naming(stage.name, error);
		});
		const copies = await readRewardCopies(resolved);
		const own = isRunnerStage(stage.type) ? ownSettings(stage, artifacts.paths) : null;
		return { stage, recipe: copies.recipe, copies, inputHash: await inputHash(copies.recipe, own, known) };
	} catch (error) {
		throw StageFailure.naming(stage.name, error, `The stage "${stage.name}"`);
	}
}

/** Creates the folder of a stage's run at its final location, atomically. */
export async function makeStageFolder(pipeline: string, { stage, copies }: CompiledStage): Promise<string> {
	const folder = join(pipeline, stage.name);
	const aside = join(pipeline, `.${stage.name}.new`);
	try {
		await rm(aside, { recursive: true, force: true });
		await mkdir(aside);
		if (!isRunnerStage(stage.type)) {
			await writeRunFiles(aside, copies);
			// Done before the folder exists, because a run without this mark is assumed to come from someone else.
			await new RunRegistry().add(folder, undefined, startMark(copies.recipe)).catch(() => undefined);
		}
		await rename(aside, folder);
	} catch (error) {
		throw Failure.from(error, `Cannot create ${folder}`);
	}
	return folder;
}
