import * as v from 'valibot';
import type { DiagnosisRun } from '../core/diagnosis/diagnosisRun.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import { decode } from '../protocol/decode.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import { ownFormat } from './annotationFolder.ts';
import { readResolvedRecipe } from './runReader.ts';

const pair = v.nullable(v.tuple([v.string(), v.string()]));
/** The parts of a frozen recipe that the rules need; any of them can be missing. */
const recipeSchema = v.object({
	stages: v.pipe(v.array(v.looseObject({ type: v.string() })), v.maxLength(1000)),
	dataset: v.optional(v.record(v.string(), v.unknown())),
	environment: v.optional(v.looseObject({ maxTurns: v.optional(v.nullable(v.number())) })),
	template: v.optional(v.looseObject({ think: v.optional(pair), answer: v.optional(pair) })),
});

export interface DiagnosedRun {
	readonly run: DiagnosisRun;
	/** Tags in the template; null if unknown. */
	readonly tags: TraceTags | null;
}

/** Collects the information about a run that the rules need in addition to its metrics. */
export async function diagnosisRunOf(
	folder: string,
	format: string,
	record: AnyRunRecord | null,
): Promise<DiagnosedRun> {
	const rewards = (record?.rewards ?? []).slice(0, 1000);
	const unknown = { run: { format, rewards, stages: [] }, tags: null };
	if (format !== ownFormat) return unknown;
	const decoded = decode(recipeSchema, await readResolvedRecipe(folder).catch(() => null));
	if (!decoded.ok) return unknown;
	const { stages, template, dataset, environment } = decoded.value;
	const maxTurns = environment?.maxTurns ?? null;
	return {
		run: {
			format,
			rewards,
			stages: stages.map((settings) => ({ type: settings.type, settings })),
			...(dataset === undefined ? {} : { dataset }),
			...(maxTurns === null ? {} : { maxTurns }),
		},
		tags: template === undefined ? null : { think: template.think ?? null, answer: template.answer ?? null },
	};
}
