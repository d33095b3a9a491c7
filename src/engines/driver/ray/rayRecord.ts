import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import type { RunRecord } from '../../../protocol/runRecord.ts';

/** The `ray` field in run.json, which lets a restarted driver find its job. */
const rayRecordSchema = v.object({
	/** Dashboard address. */
	address: v.string(),
	/** Submission ID of the newest job. */
	job: v.string(),
	/** Number of jobs submitted for this run. */
	submissions: v.number(),
	/** Run folder on the cluster, once known. */
	folder: v.nullable(v.string()),
	/** Whether that folder is also accessible from this machine. */
	shared: v.nullable(v.boolean()),
	/** The cluster run's attempt number, as last mirrored. */
	attempt: v.number(),
});
export type RayRecord = v.InferOutput<typeof rayRecordSchema>;

export function rayRecordOf(record: RunRecord): RayRecord | null {
	const decoded = decode(rayRecordSchema, record.ray);
	return decoded.ok ? decoded.value : null;
}
