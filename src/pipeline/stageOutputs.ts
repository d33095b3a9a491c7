import { lstat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { StageFailure } from '../core/pipeline/stageFailure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type OutputKind, type StageOutput, stageOutputSchema } from '../protocol/pipeline.ts';
import { type DataKind, dataKinds } from '../protocol/recipeKeys/pipelineRecipe.ts';
import { listCheckpoints } from '../runs/checkpointFiles.ts';
import { hashInside } from '../runs/pipeline/artifactHash.ts';

export const dataFile = (kind: DataKind): string => `data/${kind}.jsonl`;

export async function outputOf(folder: string, kind: OutputKind, path: string): Promise<StageOutput> {
	return decodeOrThrow(stageOutputSchema, { kind, path, ...(await hashInside(folder, path)) }, `The output ${path}`);
}

/** Returns the last and best checkpoints of a finished run. */
export async function checkpointOutputs(run: string): Promise<StageOutput[]> {
	const checkpoints = await listCheckpoints(run);
	const path = (folder: string) => relative(run, folder).replaceAll('\\', '/');
	const last = checkpoints.at(-1);
	const best = checkpoints.find((checkpoint) => checkpoint.best);
	return [
		...(last === undefined ? [] : [await outputOf(run, 'last-checkpoint', path(last.path))]),
		...(best === undefined ? [] : [await outputOf(run, 'best-checkpoint', path(best.path))]),
	];
}

/**
 * Returns the data produced by a stage. Fails with `missing` if a requested kind is empty, or if there is no data at
 * all, because a later stage could not train on it.
 */
export async function dataOutputs(
	folder: string,
	name: string,
	{ asked, some }: { readonly asked: readonly DataKind[]; readonly some: boolean },
): Promise<StageOutput[]> {
	const outputs: StageOutput[] = [];
	for (const kind of dataKinds) {
		const info = await lstat(join(folder, dataFile(kind))).catch(() => null);
		if (info?.isFile() && info.size > 0) outputs.push(await outputOf(folder, kind, dataFile(kind)));
		else if (asked.includes(kind)) throw keptNothing(name, kind);
	}
	if (some && outputs.length === 0) throw keptNothing(name, 'completions');
	return outputs;
}

const keptNothing = (name: string, kind: DataKind) =>
	new StageFailure(
		name,
		'missing',
		`The stage "${name}" kept no ${kind} because no sample passed its filter.`,
		'Train the policy longer, draw more samples, or relax the filter, then resume with the changed recipe (--recipe).',
	);
