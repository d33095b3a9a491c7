import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { canonicalJson } from '../../core/pipeline/canonicalJson.ts';
import { parseRecipe } from '../../core/recipe/parseRecipe.ts';
import { writeFileAtomic } from '../../files/atomicFile.ts';
import { silentMs } from '../../files/lockTimes.ts';
import { readJson, readSmallFile } from '../../files/safeFile.ts';
import { processState } from '../../processes/processIdentity.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import {
	type PipelineRecord,
	type PipelineStatus,
	pipelineFormat,
	pipelineRecordSchema,
} from '../../protocol/pipeline.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import type { PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';

export { isPipelineFolder, stageRunsIn } from '../runFolders.ts';

const largestRecord = 8 << 20;
const largestRecipe = 4 << 20;

/** Reads pipeline.json. Fails with `missing`, `corrupt`, `invalid`, or `version` if a newer version wrote it. */
export async function readPipeline(folder: string): Promise<PipelineRecord> {
	const value = await readJson(folder, pipelineFiles.record, largestRecord);
	const path = join(folder, pipelineFiles.record);
	const format = (value as { readonly format?: unknown } | null)?.format;
	if (typeof format === 'number' && format > pipelineFormat) {
		throw new Failure('version', `${path} was written by a newer version.`, 'Update Reasoning Lab.');
	}
	const record = decodeOrThrow(pipelineRecordSchema, value, path);
	if (new Set(record.stages.map(({ name }) => name)).size === record.stages.length) return record;
	throw new Failure('invalid', `${path} contains two stages with the same name.`);
}

export async function writePipeline(folder: string, record: PipelineRecord): Promise<void> {
	await writeFileAtomic(join(folder, pipelineFiles.record), `${JSON.stringify(record, null, '\t')}\n`);
}

/** Reads the recipe that a pipeline was started with. Fails with `missing`, `invalid`. */
export async function readPipelineRecipe(folder: string): Promise<PipelineRecipe> {
	const path = join(folder, pipelineFiles.recipe);
	const parsed = parseRecipe(await readSmallFile(folder, pipelineFiles.recipe, largestRecipe));
	if (parsed.ok && parsed.pipeline !== null) return parsed.pipeline;
	const fault = parsed.ok ? 'Its stages have no names.' : parsed.faults[0]?.message;
	throw new Failure('invalid', `${path} cannot be used: ${fault}`, 'Resume with --recipe and a recipe file.');
}

export async function writePipelineRecipe(folder: string, recipe: PipelineRecipe): Promise<void> {
	await writeFileAtomic(join(folder, pipelineFiles.recipe), `${JSON.stringify(recipe, null, '\t')}\n`);
}

export const hashRecipe = (recipe: PipelineRecipe): string =>
	createHash('sha256').update(canonicalJson(recipe)).digest('hex');

/** Returns whether a status claims that a runner is active; {@link pipelineStatus} checks whether it is. */
export const claimsRunning = ({ status }: { readonly status: PipelineStatus }): boolean =>
	status === 'starting' || status === 'running';

/**
 * Returns the actual status of a pipeline: `crashed` if it claims to be running but its runner is dead. On the same
 * host and boot, this is determined from the process and its start time, otherwise from the age of the heartbeat.
 * @param now seconds since the epoch
 */
export async function pipelineStatus(record: PipelineRecord, now = Date.now() / 1000): Promise<PipelineStatus> {
	if (!claimsRunning(record)) return record.status;
	switch (await processState(record)) {
		case 'alive':
			return record.status;
		case 'dead':
			return 'crashed';
		case 'elsewhere':
			return (now - record.heartbeat) * 1000 < silentMs ? record.status : 'crashed';
	}
}

/** Reads the current state of a pipeline. */
export async function readPipelineState(
	folder: string,
): Promise<{ readonly record: PipelineRecord; readonly status: PipelineStatus }> {
	const record = await readPipeline(folder);
	const status = await pipelineStatus(record);
	if (status !== 'crashed') return { record, status };
	// The runner might have written its final state between the two reads.
	const last = await readPipeline(folder);
	return { record: last, status: await pipelineStatus(last) };
}
