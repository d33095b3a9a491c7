import * as v from 'valibot';
import { Failure } from '../../../base/failure.ts';
import { readJson } from '../../../files/safeFile.ts';
import { decode } from '../../../protocol/decode.ts';
import { failureDataSchema } from '../../../protocol/failureData.ts';
import type { OrderlyEnd } from '../../../protocol/runRecord.ts';
import type { JobInfo } from './jobsApi.ts';
import type { MirroredRun } from './runMirror.ts';

export type JobEnd = { readonly status: OrderlyEnd } | { readonly status: 'crashed'; readonly failure: Failure };

const failedSchema = v.object({ submission: v.string(), ...failureDataSchema.entries });

/** Reads the failure that a job recorded next to its run, or returns null if there is none. */
export async function readFailed(sidecar: string, submission: string): Promise<Failure | null> {
	const value = await readJson(sidecar, 'failed.json', 1 << 20).catch(() => null);
	const decoded = decode(failedSchema, value);
	if (!decoded.ok || decoded.value.submission !== submission) return null;
	return Failure.of(decoded.value);
}

const log = 'See engine.log in the run folder.';

/**
 * Determines a run's outcome after its job has ended.
 * @param facts.failed failure recorded by the job, if any
 */
export function jobEnd(
	job: JobInfo,
	record: MirroredRun | null,
	facts: {
		readonly failed: Failure | null;
		readonly stopAsked: boolean;
		readonly address: string;
		/** Whether a successful job implies a successful run. Needed for runs that do not report their own status. */
		readonly silent?: boolean;
	},
): JobEnd {
	if (record?.status === 'finished' || record?.status === 'stopped') return { status: record.status };
	if (job.status === 'STOPPED') {
		if (facts.stopAsked) return { status: 'stopped' };
		return {
			status: 'crashed',
			failure: new Failure(
				'cancelled',
				`The job was stopped on the cluster at ${facts.address}.`,
				'Resume the run from its newest checkpoint.',
			),
		};
	}
	if (facts.failed !== null) return { status: 'crashed', failure: facts.failed };
	if (record?.error !== undefined) return { status: 'crashed', failure: Failure.of(record.error) };
	const words = (job.message ?? '').trim().split('\n').at(-1)?.slice(0, 500).replace(/\.$/, '') ?? '';
	if (job.error_type === 'RUNTIME_ENV_SETUP_FAILURE') {
		return {
			status: 'crashed',
			failure: new Failure(
				'unavailable',
				`The cluster could not prepare the job: ${words}.`,
				'Check "pip" in the recipe’s ray settings, and make sure the cluster can reach a package index.',
			),
		};
	}
	if (job.status === 'SUCCEEDED' && facts.silent) return { status: 'finished' };
	if (job.status === 'SUCCEEDED') {
		return { status: 'crashed', failure: new Failure('internal', 'The job ended before the run was complete.', log) };
	}
	const action = /JOB_SUPERVISOR/.test(job.error_type ?? '')
		? 'A cluster node was lost. Resume the run from its newest checkpoint.'
		: log;
	return { status: 'crashed', failure: new Failure('unavailable', `The job failed on the cluster: ${words}.`, action) };
}
