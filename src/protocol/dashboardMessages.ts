import * as v from 'valibot';
import { runStatuses } from './runRecord.ts';

/*
 * Messages between the dashboard panel and its webview, in the envelope of webviewMessages.ts. The webview says `ready`
 * when it has (re)started and is answered with a `snapshot`, followed by the rows in chunks. Every event is numbered; the
 * webview asks for a new snapshot (`resync`) when a number is missing or a chunk does not fit on.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const text = v.pipe(v.string(), v.maxLength(4096));
const f64 = v.instance(Float64Array);

/** What the panel can do for the run now; the webview enables its buttons by it. */
export const dashboardActions = [
	'pause',
	'continue',
	'stop',
	'checkpoint',
	'resume',
	'hyperparameters',
	'openLog',
	'openFolder',
] as const;
export type DashboardAction = (typeof dashboardActions)[number];

/** What the meaning of some metrics depends on, from the frozen recipe. */
export const dashboardStageSchema = v.object({
	name: text,
	type: text,
	/** Upper bound of its updates; null: not recorded. */
	steps: v.nullable(v.number()),
	/** null: not a GRPO stage, or not recorded. */
	lossType: v.nullable(text),
	beta: v.nullable(v.number()),
	scaleRewards: v.nullable(text),
	/** Updates per generation batch: iterations times parts. */
	updatesPerBatch: v.nullable(v.number()),
	numGenerations: v.nullable(v.number()),
});
export type DashboardStage = v.InferOutput<typeof dashboardStageSchema>;

/** Identity and state of the run: always complete. Times are seconds since the epoch, by the clock of the host. */
export const dashboardRunSchema = v.object({
	name: text,
	/** null: run.json cannot be read (`fault` says why) or is not there yet (`missing`). */
	status: v.nullable(v.picklist(runStatuses)),
	/** The run waits for its device. */
	queued: v.boolean(),
	fault: v.nullable(v.object({ missing: v.boolean(), message: text, action: v.nullable(text) })),
	/** Why the run crashed. */
	error: v.nullable(v.object({ message: text, action: v.nullable(text) })),
	/** Why the run has paused by itself. */
	pause: v.optional(v.object({ message: text, action: v.nullable(text) })),
	engine: text,
	device: text,
	attempt: v.number(),
	stage: v.nullable(text),
	step: v.number(),
	totalSteps: v.nullable(v.number()),
	created: v.number(),
	updated: v.number(),
	/** The host's clock when this was sent. */
	now: v.number(),
	stages: v.array(dashboardStageSchema),
	/** Checkpoints that are complete, by step. */
	checkpoints: v.array(v.number()),
	actions: v.array(v.picklist(dashboardActions)),
});
export type DashboardRun = v.InferOutput<typeof dashboardRunSchema>;

export const markKinds = ['stage', 'checkpoint', 'hyperparameters', 'alert', 'lifecycle'] as const;
export type MarkKind = (typeof markKinds)[number];

/** An event of the run that is drawn over the charts. */
export const dashboardMarkSchema = v.object({
	step: v.number(),
	time: v.number(),
	kind: v.picklist(markKinds),
	/** One line. */
	label: v.pipe(v.string(), v.maxLength(400)),
});
export type DashboardMark = v.InferOutput<typeof dashboardMarkSchema>;

export const metricChunkSchema = v.object({
	from: count,
	step: f64,
	time: f64,
	stage: v.instance(Uint16Array),
	stages: v.array(text),
	names: v.array(v.string()),
	values: v.array(f64),
});

const sequence = count;
export const dashboardEventSchema = v.variant('type', [
	/** Begin anew: no rows yet; `rows` is how many follow in chunks; null: the host still reads, chunks come as it goes, and
	 * `loaded` says when all are known. */
	v.object({
		type: v.literal('snapshot'),
		sequence,
		runFolder: v.string(),
		run: dashboardRunSchema,
		marks: v.array(dashboardMarkSchema),
		rows: v.nullable(count),
	}),
	/** The host has read what there was: that many rows. */
	v.object({ type: v.literal('loaded'), sequence, rows: count }),
	v.object({ type: v.literal('run'), sequence, run: dashboardRunSchema }),
	v.object({ type: v.literal('marks'), sequence, marks: v.array(dashboardMarkSchema) }),
	/**
	 * While the host reads a long run: some of its rows, spread over all of it, to be shown after those that have come;
	 * until `loaded`.
	 */
	v.object({ type: v.literal('overview'), sequence, chunk: metricChunkSchema }),
	/** Rows from `chunk.from` on are these; what was after them is gone. */
	v.object({ type: v.literal('rows'), sequence, chunk: metricChunkSchema }),
]);
export type DashboardEvent = v.InferOutput<typeof dashboardEventSchema>;

export const dashboardCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('resync') }),
	/** A fault of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type DashboardCommand = v.InferOutput<typeof dashboardCommandSchema>;

/** Bytes of one exported file. */
export const largestExport = 512 << 20;

const done = v.object({});

export const dashboardRequests = {
	/** Runs the command of that name on the run. */
	act: { params: v.object({ action: v.picklist(dashboardActions) }), result: done },
	/** Opens the rollouts panel, at the newest step that has rollouts and is not after `step`. */
	openRollouts: { params: v.object({ step: v.nullable(v.number()) }), result: done },
	/** Asks for a file name and writes the bytes; `saved` is false when the person thought better of it. */
	save: {
		params: v.object({
			name: v.pipe(v.string(), v.maxLength(200)),
			kind: v.picklist(['png', 'csv']),
			bytes: v.pipe(
				v.instance(Uint8Array),
				v.check((bytes) => bytes.byteLength <= largestExport, 'is too large to save'),
			),
		}),
		result: v.object({ saved: v.boolean() }),
	},
} as const;
