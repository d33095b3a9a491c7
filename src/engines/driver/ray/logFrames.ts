import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';

/**
 * What a job tells through its log where this machine does not see the storage: lines that begin with this, and a JSON
 * object behind it. Written by `reasoning_lab_trainer/ray/frames.py`.
 */
export const framePrefix = '@reasoning-lab ';

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Files of a run, and of verl's output; nothing else is written here because a log says so. */
const linesFile = v.pipe(v.string(), v.regex(/^(metrics|events|metrics\/\w[\w.-]{0,99})\.jsonl$/));
const wholeFile = v.pipe(
	v.string(),
	v.regex(
		/^(rollouts\/step_\d{6,15}\.jsonl|evaluations\/step_\d{6,15}\/\w[\w.-]{0,99}\.jsonl?|(rollouts|validation)\/\d{1,15}\.jsonl)$/,
	),
);

export const frameSchema = v.variant('k', [
	/** Where the run lies on the cluster. */
	v.object({ k: v.literal('place'), folder: v.string() }),
	/** run.json. */
	v.object({ k: v.literal('record'), text: v.pipe(v.string(), v.maxLength(1 << 20)) }),
	/** Whole lines of a file that grows; `at`: the bytes before them. */
	v.object({ k: v.literal('lines'), file: linesFile, at: whole, text: v.string() }),
	/** The files that grow begin anew. */
	v.object({ k: v.literal('reset') }),
	/** A part of a file that is told whole: base64 of a part of its deflated bytes. */
	v.object({
		k: v.literal('file'),
		path: wholeFile,
		part: whole,
		parts: v.pipe(whole, v.maxValue(1 << 17)),
		data: v.string(),
	}),
	v.object({ k: v.literal('gone'), path: wholeFile }),
	/** The answer to a relayed control request. */
	v.object({ k: v.literal('answer'), id: v.string(), answer: v.unknown() }),
	/** Why the job cannot go on. */
	v.object({ k: v.literal('failed'), reason: v.string(), message: v.string(), action: v.optional(v.string()) }),
]);
export type LogFrame = v.InferOutput<typeof frameSchema>;

/** The frame of a line of a job's log; null: the line is text for people. */
export function readFrame(line: string): LogFrame | null {
	if (!line.startsWith(framePrefix)) return null;
	try {
		const decoded = decode(frameSchema, JSON.parse(line.slice(framePrefix.length)));
		return decoded.ok ? decoded.value : null;
	} catch {
		return null;
	}
}
