import * as v from 'valibot';
import { alertLevels, evidenceSchema } from './alert.ts';
import { runStatuses } from './runRecord.ts';

export const chartExports = ['png', 'csv'] as const;
export type ChartExport = (typeof chartExports)[number];

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
	'setUpPytorch',
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
	/** null: run.json cannot be read (`fault` says why) or does not exist yet (`missing`). */
	status: v.nullable(v.picklist(runStatuses)),
	/** What it waits for that is at work, as a state. */
	wait: v.optional(v.object({ kind: v.picklist(['device', 'loading', 'job', 'cluster', 'restart']), words: text })),
	fault: v.nullable(v.object({ missing: v.boolean(), message: text, action: v.nullable(text) })),
	/** Why the run crashed. */
	error: v.nullable(v.object({ message: text, action: v.nullable(text) })),
	/** Why the run has paused by itself. */
	pause: v.optional(v.object({ message: text, action: v.nullable(text) })),
	engine: text,
	/** Of an engine of ours: what numbers depend on, and the job that computes elsewhere. */
	engineFacts: v.optional(
		v.object({
			versions: v.array(v.tuple([text, text])),
			job: v.nullable(v.object({ id: text, address: text, submissions: count })),
			/** Training processes; null: not recorded, or one. */
			workers: v.nullable(count),
		}),
	),
	/** Name of the importer's format; absent: written by an engine of ours. */
	format: v.optional(text),
	/** What that format does not record, and what is inferred instead. */
	notes: v.optional(v.array(text)),
	device: text,
	attempt: v.number(),
	stage: v.nullable(text),
	/** null: there is no record yet, or another trainer's files state none. */
	step: v.nullable(v.number()),
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

/** Something that the diagnosis found, as the dashboard lists it. */
export const dashboardAlertSchema = v.object({
	id: text,
	/** What the rule is called. */
	title: text,
	level: v.picklist(alertLevels),
	message: v.pipe(v.string(), v.maxLength(2000)),
	action: v.nullable(v.pipe(v.string(), v.maxLength(2000))),
	/** Began to hold, and held last. */
	step: v.number(),
	lastStep: v.number(),
	holds: v.boolean(),
	dismissed: v.boolean(),
	/** Rollouts that show it. */
	evidence: v.array(evidenceSchema),
	/** What to change in the recipe: the key, and to what; null: nothing there. */
	recipe: v.nullable(
		v.object({
			key: text,
			suggestion: v.pipe(v.string(), v.maxLength(1000)),
			/** Whether it can be applied to the recipe as it is. */
			applies: v.boolean(),
		}),
	),
});
export type DashboardAlert = v.InferOutput<typeof dashboardAlertSchema>;

export const dashboardAlertsSchema = v.object({
	/** `off`: the setting says so; `reading`: the run is being gone through, what is there was found before. */
	phase: v.picklist(['off', 'reading', 'ready']),
	/** Most likely cause first. */
	alerts: v.pipe(v.array(dashboardAlertSchema), v.maxLength(1000)),
	/** One sentence on the ongoing alerts, or on why there are none; null: not known yet. */
	summary: v.nullable(
		v.object({ kind: v.picklist(['alerts', 'clear', 'short']), text: v.pipe(v.string(), v.maxLength(1000)) }),
	),
});
export type DashboardAlerts = v.InferOutput<typeof dashboardAlertsSchema>;

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
	/** Begin again: no rows yet; `rows` is how many follow in chunks; null: the host still reads, chunks come as it goes, and
	 * `loaded` says when all are known. */
	v.object({
		type: v.literal('snapshot'),
		sequence,
		runFolder: v.string(),
		run: dashboardRunSchema,
		marks: v.array(dashboardMarkSchema),
		/** Absent: none are known yet. */
		alerts: v.optional(dashboardAlertsSchema),
		rows: v.nullable(count),
	}),
	/** The host has read what there was: that many rows. */
	v.object({ type: v.literal('loaded'), sequence, rows: count }),
	v.object({ type: v.literal('run'), sequence, run: dashboardRunSchema }),
	v.object({ type: v.literal('marks'), sequence, marks: v.array(dashboardMarkSchema) }),
	v.object({ type: v.literal('alerts'), sequence, alerts: dashboardAlertsSchema }),
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
	/** Opens the rollouts that show an alert: the one of this number in its evidence, or those of its step. */
	showEvidence: { params: v.object({ id: text, item: v.nullable(count) }), result: done },
	/** Opens the recipe at the key that an alert names. */
	showRecipe: { params: v.object({ id: text }), result: done },
	/** Makes the change that an alert advises in the recipe's editor, unsaved. */
	applyAdvice: { params: v.object({ id: text }), result: done },
	dismissAlert: { params: v.object({ id: text, dismissed: v.boolean() }), result: done },
	/** Opens the setting that switches the diagnosis on. */
	openDiagnosisSetting: { params: done, result: done },
	/** Asks for a file name and writes the bytes; `saved` is false when the user canceled. */
	save: {
		params: v.object({
			name: v.pipe(v.string(), v.maxLength(200)),
			kind: v.picklist(chartExports),
			bytes: v.pipe(
				v.instance(Uint8Array),
				v.check((bytes) => bytes.byteLength <= largestExport, 'is too large to save'),
			),
		}),
		result: v.object({ saved: v.boolean() }),
	},
} as const;
