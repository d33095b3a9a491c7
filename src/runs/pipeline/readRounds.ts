import { join } from 'node:path';
import * as v from 'valibot';
import { type RoundSeries, roundSeries } from '../../core/pipeline/rounds.ts';
import { readJson } from '../../files/safeFile.ts';
import { decode } from '../../protocol/decode.ts';
import { evaluationFiles } from '../../protocol/evaluationFolder.ts';
import type { PipelineRecord } from '../../protocol/pipeline.ts';

const interval = { low: v.number(), high: v.number() };
/** Parts of a report that round plots use. */
const reportSchema = v.object({
	problems: v.number(),
	accuracy: v.object({ ...interval, accuracy: v.number() }),
	gain: v.optional(
		v.nullable(v.object({ ...interval, by: v.picklist(['judge', 'majority']), k: v.number(), mean: v.number() })),
		null,
	),
});

/** Returns the results so far from evaluations in a pipeline's loops; unreadable ones are skipped. */
export async function readRounds(folder: string, { stages }: Pick<PipelineRecord, 'stages'>): Promise<RoundSeries[]> {
	const evaluated = stages.filter(
		({ type, status, round }) => type === 'evaluate' && status === 'finished' && round !== undefined,
	);
	const read = await Promise.all(
		evaluated.map(async ({ name, round }) => {
			const value = await readJson(join(folder, name), evaluationFiles.report).catch(() => null);
			const decoded = decode(reportSchema, value);
			return decoded.ok ? [{ name, round, report: decoded.value }] : [];
		}),
	);
	return roundSeries(read.flat());
}
