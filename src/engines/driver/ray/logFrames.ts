import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import { failureDataSchema } from '../../../protocol/failureData.ts';

/**
 * Prefix of log lines that a job uses to transfer its files if it does not share storage with this machine. A JSON
 * object follows. Written by `reasoning_lab_trainer/ray/frames.py`.
 */
export const framePrefix = '@reasoning-lab ';

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Allowed file names from a run or from verl's output. A log cannot cause any other file to be written. */
const linesFile = v.pipe(v.string(), v.regex(/^(metrics|events|metrics\/\w[\w.-]{0,99})\.jsonl$/));
const wholeFile = v.pipe(
	v.string(),
	v.regex(
		/^(rollouts\/step_\d{6,15}\.jsonl|evaluations\/step_\d{6,15}\/\w[\w.-]{0,99}\.jsonl?|(rollouts|validation)\/\d{1,15}\.jsonl)$/,
	),
);

export const frameSchema = v.variant('k', [
	/** Location of the run on the cluster. */
	v.object({ k: v.literal('place'), folder: v.string() }),
	/** Contents of run.json. */
	v.object({ k: v.literal('record'), text: v.pipe(v.string(), v.maxLength(1 << 20)) }),
	/** Complete lines of a growing file. `at` is the number of preceding bytes. */
	v.object({ k: v.literal('lines'), file: linesFile, at: whole, text: v.string() }),
	/** The growing files are sent again from the start. */
	v.object({ k: v.literal('reset') }),
	/** Part of a complete file: a slice of its deflated bytes in base64. */
	v.object({
		k: v.literal('file'),
		path: wholeFile,
		part: whole,
		parts: v.pipe(whole, v.maxValue(1 << 17)),
		data: v.string(),
	}),
	v.object({ k: v.literal('gone'), path: wholeFile }),
	/** Response to a forwarded control request. */
	v.object({ k: v.literal('answer'), id: v.string(), answer: v.unknown() }),
	/** Why the job cannot continue. */
	v.object({ k: v.literal('failed'), ...failureDataSchema.entries }),
]);
export type LogFrame = v.InferOutput<typeof frameSchema>;

/** Parses the frame in a job log line. Returns null if the line is plain text. */
export function readFrame(line: string): LogFrame | null {
	if (!line.startsWith(framePrefix)) return null;
	try {
		const decoded = decode(frameSchema, JSON.parse(line.slice(framePrefix.length)));
		return decoded.ok ? decoded.value : null;
	} catch {
		return null;
	}
}
