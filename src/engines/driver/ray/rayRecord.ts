import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import type { RunRecord } from '../../../protocol/runRecord.ts';

/** `ray` in run.json, by which a restarted driver finds its job. */
const rayRecordSchema = v.object({
	/** Dashboard address. */
	address: v.string(),
	/** Submission id of the newest job. */
	job: v.string(),
	/** Number of jobs of this run. */
	submissions: v.number(),
	/** Location of the run on the cluster, once known. */
	folder: v.nullable(v.string()),
	/** Whether that folder is also visible on this machine. */
	shared: v.nullable(v.boolean()),
	/** The attempt of the cluster run that has been mirrored. */
	attempt: v.number(),
});
export type RayRecord = v.InferOutput<typeof rayRecordSchema>;

export function rayRecordOf(record: RunRecord): RayRecord | null {
	const decoded = decode(rayRecordSchema, record.ray);
	return decoded.ok ? decoded.value : null;
}
