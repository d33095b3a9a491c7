import * as v from 'valibot';
import { runStatuses } from './runRecord.ts';

/*
 * A sweep is a folder next to its runs. `sweep.json` contains its plan and progress, so that it can be continued
 * after a stop or a crash. See docs/sweeps.md.
 */

export const sweepFormat = 1;
export const sweepFiles = { record: 'sweep.json', lock: 'lock' } as const;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Name of a file or folder, without a path. */
const plainName = v.pipe(v.string(), v.regex(/^(?!\.{1,2}$)[^/\\\0]{1,255}$/));
const text = v.pipe(v.string(), v.maxLength(4096));

export const sweepTrialSchema = v.object({
	set: v.array(v.object({ path: v.pipe(v.array(text), v.minLength(1)), value: v.unknown() })),
	seed: v.nullable(whole),
	label: text,
	/** Name of the run folder, a sibling of the sweep folder; null before the run starts. */
	run: v.nullable(plainName),
	/** Last rung that the run was trained for; -1 before the first one. */
	rung: v.pipe(v.number(), v.integer(), v.minValue(-1)),
	score: v.nullable(v.number()),
	step: v.number(),
	status: v.nullable(v.picklist(runStatuses)),
});
export type SweepTrial = v.InferOutput<typeof sweepTrialSchema>;

/** Schema of sweep.json. */
export const sweepRecordSchema = v.object({
	format: v.literal(sweepFormat),
	/** Name of the recipe file, a sibling of the folder that contains the sweep, and the SHA-256 of its text. */
	recipe: plainName,
	recipeHash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
	metric: text,
	tag: text,
	rungs: v.pipe(v.array(whole), v.minLength(1)),
	counts: v.array(whole),
	trials: v.pipe(v.array(sweepTrialSchema), v.minLength(1), v.maxLength(10_000)),
	/** Trials of each started rung, in training order. */
	open: v.array(v.array(whole)),
});
export type SweepRecord = v.InferOutput<typeof sweepRecordSchema>;
