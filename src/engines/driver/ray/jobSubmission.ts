import { Failure } from '../../../base/failure.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { pause } from '../../../rpc/pause.ts';
import type { RunWriter } from '../../../runs/runWriter.ts';
import { trainerEnvironment } from '../trainerEnvironment.ts';
import type { ClusterPlace } from './clusterPlace.ts';
import { jobPackage } from './jobPackage.ts';
import type { JobRequest, JobsApi } from './jobsApi.ts';
import { verlPayload } from './verlJob/verlPayload.ts';

export interface JobOptions {
	readonly api: JobsApi;
	readonly recipe: ResolvedRecipe;
	readonly writer: RunWriter;
	readonly place: ClusterPlace;
	readonly parentCheckpoint: string | null;
	/** Folder that contains the build output. */
	readonly dist: string;
}

/** Timeout for a cluster to accept a job, in milliseconds. */
const submitMs = 180_000;

/** Returns whether the run is trained with verl instead of TRL. */
export function isVerl(recipe: ResolvedRecipe): boolean {
	return recipe.ray?.payload === 'verl';
}

/**
 * Uploads a job's files and returns the request that submits it, with notes on how the recipe was translated.
 * @param job submission ID
 * @param resume whether the job continues from the run's newest checkpoint
 */
export async function prepareJob(
	{ api, recipe, writer, place, parentCheckpoint, dist }: JobOptions,
	job: string,
	resume: boolean,
	signal: AbortSignal,
): Promise<{ request: JobRequest; notes: string[] }> {
	const ray = recipe.ray;
	if (ray === undefined) throw new Failure('invalid', 'The recipe for this run has no Ray settings.');
	const verl = isVerl(recipe);
	if (verl && parentCheckpoint !== null) {
		throw new Failure(
			'unsupported',
			'verl cannot start from a Reasoning Lab checkpoint.',
			'Set the checkpoint as the model instead.',
		);
	}
	const { id } = writer.record;
	const notes: string[] = [];
	const forVerl = async (placed: ResolvedRecipe) => {
		const payload = await verlPayload(writer.folder, recipe, placed, { id, submission: job });
		notes.push(...payload.notes);
		return payload.entries;
	};
	const files = await jobPackage({
		...{ run: writer.folder, id, submission: job, recipe, place, resume, parentCheckpoint, dist },
		...(verl ? { extra: forVerl } : {}),
	});
	if (!(await api.hasPackage(files.name, signal))) await api.putPackage(files.name, files.bytes, signal);
	const request = {
		entrypoint: `python -m reasoning_lab_trainer.ray.${verl ? 'verl_job' : 'job'}`,
		submission_id: job,
		metadata: { run: id, name: recipe.name, by: 'reasoning-lab' },
		runtime_env: {
			working_dir: `gcs://${files.name}`,
			...(ray.pip.length === 0 ? {} : { pip: ray.pip }),
			env_vars: { ...jobEnvironment(recipe), ...ray.environment },
		},
	};
	return { request, notes };
}

/** Submits a job. Retries, because a cluster that has just started accepts requests shortly before it accepts jobs. */
export async function submitJob(api: JobsApi, request: JobRequest, signal: AbortSignal): Promise<void> {
	const deadline = Date.now() + submitMs;
	for (let rest = 1000; ; rest = Math.min(rest * 2, 15_000)) {
		try {
			return await api.submit(request, signal);
		} catch (error) {
			if (!(error instanceof Failure) || error.reason !== 'unavailable' || Date.now() > deadline) throw error;
			// The request succeeded, but the response was lost.
			if ((await api.job(request.submission_id, signal).catch(() => null)) !== null) return;
			await pause(rest, signal);
		}
	}
}

/**
 * Returns the environment variables of a local trainer that disable telemetry and, unless the recipe refers to online
 * resources, network access.
 */
function jobEnvironment(recipe: ResolvedRecipe): Record<string, string> {
	const own = trainerEnvironment({ recipe, folder: '', socket: '', token: '', environment: {} });
	const place = /^(PYTHONPATH|PYTHONSAFEPATH|OMP_NUM_THREADS|REASONING_LAB_.*)$/;
	const kept = Object.entries(own).filter(([name, value]) => value !== undefined && !place.test(name));
	return { ...(Object.fromEntries(kept) as Record<string, string>), RAY_DEDUP_LOGS: '0', RAY_USAGE_STATS_ENABLED: '0' };
}
