import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import type { RunRecord } from '../../../protocol/runRecord.ts';

/** `ray` of run.json: by it a driver that was started again finds its job. */
const rayRecordSchema = v.object({
	/** Of the dashboard. */
	address: v.string(),
	/** Submission id of the newest job. */
	job: v.string(),
	/** How many jobs this run has had. */
	submissions: v.number(),
	/** Where the run lies on the cluster, once that is known. */
	folder: v.nullable(v.string()),
	/** Whether that is a folder of this machine, too. */
	shared: v.nullable(v.boolean()),
	/** Attempt of the run on the cluster up to which it was mirrored. */
	attempt: v.number(),
});
export type RayRecord = v.InferOutput<typeof rayRecordSchema>;

export function rayRecordOf(record: RunRecord): RayRecord | null {
	const decoded = decode(rayRecordSchema, record.ray);
	return decoded.ok ? decoded.value : null;
}
