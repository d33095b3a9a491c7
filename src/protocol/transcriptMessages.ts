import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';

/*
 * Messages between a transcript panel and its webview, in the envelope of webviewMessages.ts. The panel only sends the
 * text, in chunks that the webview requests; the webview parses and checks it, so that the extension host never spends
 * time on it. For a long chat log with one message per line, the webview requests only the lines that it shows, and a
 * worker thread of the panel checks all lines. `ready` is always answered with a complete `snapshot`, and so is every
 * change to the text.
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

const message = v.object({ message: count, call: v.nullable(count) });
const text = v.string();
const usageTotals = v.object({
	prompt: v.number(),
	completion: v.number(),
	total: v.number(),
	cached: v.number(),
	reasoning: v.number(),
	counted: count,
	answers: count,
});

/** A check's finding; `at` lists the affected messages, the main one first. */
const shownFinding = v.object({
	severity: v.picklist(['error', 'warning', 'info']),
	title: text,
	text,
	at: v.array(message),
	quotes: v.array(v.object({ label: text, text })),
});

const answerReferences = v.object({
	at: message,
	references: v.array(
		v.object({
			number: v.number(),
			url: text,
			retrieved: v.array(count),
			title: v.nullable(text),
			evidence: text,
			claims: v.array(count),
		}),
	),
	claims: v.array(
		v.object({
			text,
			cites: v.array(v.number()),
			verdict: v.picklist(['supported', 'weak', 'unsupported', 'elsewhere', 'number', 'unknown']),
			support: v.nullable(v.number()),
			source: v.nullable(text),
			absent: v.array(text),
			absentNumbers: v.array(text),
			better: v.nullable(v.object({ url: text, support: v.number(), messages: v.array(count) })),
		}),
	),
	dangling: v.array(v.number()),
});

/** Inspection of a long chat log by the panel's worker thread. Lists contain only the items that the page shows. */
export const longInspectionSchema = v.object({
	/** Number of nonblank lines that were read. Excludes an incomplete last line. */
	lines: count,
	messages: count,
	/**
	 * Line of each message, in order, as an index into the nonblank lines; null if every line contains one message.
	 */
	lineOf: v.nullable(v.instance(Int32Array)),
	calls: count,
	/** Links from calls to results, in order of calls: message, index of its call, and message with the result. */
	links: v.instance(Int32Array),
	totals: usageTotals,
	/** Context at the first model calls, and number of model calls that report tokens. */
	points: v.array(v.object({ message: count, prompt: v.number(), completion: v.number(), added: v.number() })),
	pointCount: count,
	/** Whether the messages were checked. If not, there are no findings or references. */
	checked: v.boolean(),
	findings: v.array(shownFinding),
	/** Number of findings by severity, including those not in the list. */
	counts: v.object({ error: count, warning: count, info: count }),
	references: v.array(answerReferences),
	/** Lines that could not be read; the place is null if unknown. */
	faults: v.array(v.object({ place: v.nullable(v.object({ line: count, column: count })), message: text })),
	moreFaults: count,
});
export type LongInspection = v.InferOutput<typeof longInspectionSchema>;

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
		/** Number of nonblank lines if the text is read line by line; otherwise null. */
		lines: v.nullable(count),
		/** Whether text has only been appended since the last version. */
		grown: v.boolean(),
		/** The conversation shown, if the file contains several that are read one at a time; otherwise null. */
		sample: v.nullable(v.object({ title: text, index: count, count })),
		/** Why no text is available. */
		failure: v.nullable(v.object({ message: v.string(), action: v.nullable(v.string()) })),
	}),
	v.object({
		type: v.literal('inspected'),
		version: count,
		/** Null if it failed, for the reason in `failure`. */
		inspection: v.nullable(longInspectionSchema),
		failure: v.nullable(v.string()),
	}),
]);
export type TranscriptEvent = v.InferOutput<typeof transcriptEventSchema>;

export const transcriptCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Rereads the file. */
	v.object({ type: v.literal('again') }),
	/** Opens the file in a text editor at a line and a column (1-based), or the rollout in the rollouts panel. */
	v.object({
		type: v.literal('openSource'),
		line: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
		column: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
	}),
	/** Shows another conversation from the file: the one at `index`, or one that the user picks if `index` is null. */
	v.object({ type: v.literal('chooseSample'), index: v.nullable(count) }),
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
	/** Returns nonblank lines: at least one, and fewer than requested if they are long. Also fails with `mismatch`. */
	loadLines: {
		params: v.object({ version: count, from: count, count: v.pipe(count, v.minValue(1), v.maxValue(1000)) }),
		result: v.object({
			/** null for a line that is too long. */
			lines: v.array(v.nullable(v.string())),
			/** 1-based numbers of the lines in the file. */
			numbers: v.array(count),
			/** Whether the last line lacks a trailing newline. */
			open: v.boolean(),
		}),
	},
} as const;
