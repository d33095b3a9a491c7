import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';

/*
 * Messages between a transcript panel and its webview, in the envelope of webviewMessages.ts. The panel hands over the
 * text alone, in pieces that the webview asks for; reading and checking it is the webview's work, so that the editor's
 * host never is at it. `ready` is always answered with a complete `snapshot`; so is each change of the text.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** What is shown: a file, or one rollout of a run. */
export const transcriptPlaceSchema = v.variant('kind', [
	v.object({ kind: v.literal('file'), file: path }),
	v.object({
		kind: v.literal('rollout'),
		/** The run's folder. */
		run: path,
		split: v.picklist(rolloutSplits),
		step: v.number(),
		group: v.number(),
		index: v.number(),
	}),
]);
export type TranscriptPlace = v.InferOutput<typeof transcriptPlaceSchema>;

/** A saved state as far as the panel trusts it. */
export const transcriptStateSchema = v.looseObject({ place: transcriptPlaceSchema });

export const transcriptEventSchema = v.variant('type', [
	v.object({
		type: v.literal('snapshot'),
		place: transcriptPlaceSchema,
		/** For people: the file relative to the workspace, or which rollout. */
		label: v.string(),
		/** Changes with the text; 0: there is none. */
		version: count,
		/** Bytes. */
		size: count,
		/** Why there is no text. */
		failure: v.nullable(v.object({ message: v.string(), action: v.nullable(v.string()) })),
	}),
]);
export type TranscriptEvent = v.InferOutput<typeof transcriptEventSchema>;

export const transcriptCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Looks at the file again. */
	v.object({ type: v.literal('again') }),
	/** The file in a text editor, at a line and a column (from 1); or the rollout in the rollouts panel. */
	v.object({
		type: v.literal('openSource'),
		line: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
		column: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
	}),
	/** Another file. */
	v.object({ type: v.literal('openOther') }),
	v.object({ type: v.literal('copy'), text: v.pipe(v.string(), v.maxLength(33_554_432)) }),
	/** A text in a tab that cannot be edited. */
	v.object({ type: v.literal('openText'), name: v.pipe(v.string(), v.maxLength(200)), text: v.string() }),
	/** An error of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type TranscriptCommand = v.InferOutput<typeof transcriptCommandSchema>;

export const transcriptRequests = {
	/** The text from a position on. Fails with `mismatch` when the version is not the present one. */
	loadText: {
		params: v.object({ version: count, from: count }),
		/** `next` is where it continues; null: it is whole. */
		result: v.object({ text: v.string(), next: v.nullable(count) }),
	},
} as const;
