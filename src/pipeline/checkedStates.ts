import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { PipelineRecord, StageState } from '../protocol/pipeline.ts';
import type { PipelineRecipe } from '../protocol/recipeKeys/pipelineRecipe.ts';
import { hashInside } from '../runs/pipeline/artifactHash.ts';
import { freshState, orderedStages } from '../runs/pipeline/startPipeline.ts';

const roundOf = ({ round }: StageState) => (round === undefined ? {} : { round });

/**
 * Returns the stage states for a recipe: existing states, and fresh ones for new stages. Outputs of finished stages
 * must be unchanged. If changes are accepted, changed outputs are kept as they are and missing ones are regenerated.
 */
export async function checkedStates(
	{ folder, acceptChanges }: { readonly folder: string; readonly acceptChanges: boolean },
	recipe: PipelineRecipe,
	known: PipelineRecord,
): Promise<StageState[]> {
	const states: StageState[] = [];
	for (const stage of orderedStages(recipe)) {
		const fresh = freshState(stage);
		const state = known.stages.find(({ name, type }) => name === stage.name && type === stage.type);
		if (state === undefined) {
			states.push(fresh);
			continue;
		}
		const outputs: StageState['outputs'] = [];
		let gone = false;
		for (const output of state.outputs) {
			const path = join(folder, stage.name, output.path);
			const found = await hashInside(join(folder, stage.name), output.path).catch((error: unknown) => {
				if (Failure.from(error).reason === 'missing') return null;
				throw error;
			});
			if (found?.sha256 === output.sha256) outputs.push(output);
			else if (!acceptChanges) {
				throw new Failure(
					'mismatch',
					`${path}, an output of the stage "${stage.name}", ${found === null ? 'is missing' : 'has changed'}.`,
					'Restore it, or resume with --accept-changes to accept it and rerun the stages that depend on it.',
				);
			} else if (found === null) gone = true;
			else outputs.push({ ...output, ...found });
		}
		const kept = state.kept === undefined ? {} : { kept: state.kept };
		const { wait: _, ...rest } = state;
		// Its run may still be in progress, in which case it is followed when the stage is reached.
		const status = state.status === 'running' ? 'stopped' : state.status;
		states.push(gone ? { ...fresh, ...kept } : { ...rest, status, ...roundOf(fresh), after: fresh.after, outputs });
	}
	return states;
}
