import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';

/*
 * Messages between a transcript panel and its webview, in the envelope of webviewMessages.ts. The panel only sends the
 * text, in chunks that the webview requests; the webview parses and checks it, so that the extension host never spends
 * time on it. `ready` is always answered with a complete `snapshot`, and so is every change to the text.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** What to show: a file, or one rollout from a run. */
export const transcriptPlaceSchema = v.variant('kind', [
	v.object({ kind: v.literal('file'), file: path }),
	v.object({
		kind: v.literal('rollout'),
		/** Run folder. */
		run: path,
		split: v.picklist(rolloutSplits),
		step: v.number(),
		group: v.number(),
		index: v.number(),
	}),
]);
export type TranscriptPlace = v.InferOutput<typeof transcriptPlaceSchema>;

/** The part of a saved state that the panel trusts. */
export const transcriptStateSchema = v.looseObject({ place: transcriptPlaceSchema });

export const transcriptEventSchema = v.variant('type', [
	v.object({
		type: v.literal('snapshot'),
		place: transcriptPlaceSchema,
		/** Display name: the file relative to the workspace, or a description of the rollout. */
		label: v.string(),
		/** Changes with the text; 0 if there is no text. */
		version: count,
		/** Size in bytes. */
		size: count,
		/** Why no text is available. */
		failure: v.nullable(v.object({ message: v.string(), action: v.nullable(v.string()) })),
	}),
]);
export type TranscriptEvent = v.InferOutput<typeof transcriptEventSchema>;

export const transcriptCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Reads the file again. */
	v.object({ type: v.literal('again') }),
	/** Opens the file in a text editor at a line and a column (1-based), or the rollout in the rollouts panel. */
	v.object({
		type: v.literal('openSource'),
		line: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
		column: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
	}),
	/** Opens another file. */
	v.object({ type: v.literal('openOther') }),
	v.object({ type: v.literal('copy'), text: v.pipe(v.string(), v.maxLength(33_554_432)) }),
	/** Opens text in a read-only tab. */
	v.object({ type: v.literal('openText'), name: v.pipe(v.string(), v.maxLength(200)), text: v.string() }),
	/** An error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type TranscriptCommand = v.InferOutput<typeof transcriptCommandSchema>;

export const transcriptRequests = {
	/** Returns the text starting at an offset. Fails with `mismatch` if the version is not the current one. */
	loadText: {
		params: v.object({ version: count, from: count }),
		/** `next` is the offset of the next chunk, or null at the end of the text. */
		result: v.object({ text: v.string(), next: v.nullable(count) }),
	},
} as const;
