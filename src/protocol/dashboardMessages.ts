import * as v from 'valibot';
import { alertLevels, evidenceSchema } from './alert.ts';
import { pinnedChartSchema, pinnedChartsSchema } from './pinnedCharts.ts';
import { engineWaits, runStatuses } from './runRecord.ts';

export const chartExports = ['png', 'csv'] as const;
export type ChartExport = (typeof chartExports)[number];

/*
 * Messages between the dashboard panel and its webview, in the envelope of webviewMessages.ts. The webview sends
 * `ready` when it has (re)started and receives a `snapshot`, followed by the rows in chunks. All events are numbered.
 * The webview requests a new snapshot (`resync`) if a number is missing or a chunk does not continue from the previous
 * one.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const text = v.pipe(v.string(), v.maxLength(4096));
const f64 = v.instance(Float64Array);

/** Actions currently available for the run. The webview enables its buttons accordingly. */
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

/** Next steps offered by a run's summary. */
export const nextStepNames = ['showAdvice', 'evaluate', 'tryInPlayground', 'compare', 'query'] as const;
export type NextStep = (typeof nextStepNames)[number];

/** Stage settings from the frozen recipe that affect how some metrics are interpreted. */
export const dashboardStageSchema = v.object({
	name: text,
	type: text,
	/** Maximum number of updates; null if not recorded. */
	steps: v.nullable(v.number()),
	/** null if this is not a GRPO stage or the value is not recorded. */
	lossType: v.nullable(text),
	beta: v.nullable(v.number()),
	/** Divisor for advantages, one of `advantageKinds`; null for other trainers and stages. */
	advantages: v.nullable(text),
	/** Number of updates per generation batch: iterations times parts. */
	updatesPerBatch: v.nullable(v.number()),
	numGenerations: v.nullable(v.number()),
});
export type DashboardStage = v.InferOutput<typeof dashboardStageSchema>;

/** Identity and state of the run, always sent in full. Times are in seconds since the epoch, by the host's clock. */
export const dashboardRunSchema = v.object({
	name: text,
	/** null if run.json cannot be read (`fault` says why) or does not exist yet (`missing`). */
	status: v.nullable(v.picklist(runStatuses)),
	/** What an active run is currently waiting for. */
	wait: v.optional(v.object({ kind: v.picklist(engineWaits), words: text })),
	fault: v.nullable(v.object({ missing: v.boolean(), message: text, action: v.nullable(text) })),
	/** Error that crashed the run. */
	error: v.nullable(v.object({ message: text, action: v.nullable(text) })),
	/** Why the run paused on its own. */
	pause: v.optional(v.object({ message: text, action: v.nullable(text) })),
	engine: text,
	/** Facts that affect results, plus the job of a remote run. Present only for runs from our own engines. */
	engineFacts: v.optional(
		v.object({
			versions: v.array(v.tuple([text, text])),
			job: v.nullable(v.object({ id: text, address: text, submissions: count })),
			/** Number of training processes; null if not recorded or if there is only one. */
			workers: v.nullable(count),
		}),
	),
	/** Format name from the importer. Absent for runs written by our own engines. */
	format: v.optional(text),
	/** Notes on data that the format does not record and on what is inferred instead. */
	notes: v.optional(v.array(text)),
	device: text,
	/** Devices that were tried but not used, and the measured times. */
	deviceNotes: v.optional(v.array(text)),
	attempt: v.number(),
	stage: v.nullable(text),
	/** null if there is no record yet, or if another trainer's files do not contain it. */
	step: v.nullable(v.number()),
	totalSteps: v.nullable(v.number()),
	created: v.number(),
	updated: v.number(),
	/** Host time when this was sent. */
	now: v.number(),
	stages: v.array(dashboardStageSchema),
	/** Steps with complete checkpoints. */
	checkpoints: v.array(v.number()),
	actions: v.array(v.picklist(dashboardActions)),
});
export type DashboardRun = v.InferOutput<typeof dashboardRunSchema>;

export const markKinds = ['stage', 'checkpoint', 'hyperparameters', 'alert', 'lifecycle'] as const;
export type MarkKind = (typeof markKinds)[number];

/** A run event overlaid on the charts. */
export const dashboardMarkSchema = v.object({
	step: v.number(),
	time: v.number(),
	kind: v.picklist(markKinds),
	/** Single-line label. */
	label: v.pipe(v.string(), v.maxLength(400)),
});
export type DashboardMark = v.InferOutput<typeof dashboardMarkSchema>;

/** An alert as shown in the dashboard's list. */
export const dashboardAlertSchema = v.object({
	id: text,
	/** Rule title. */
	title: text,
	level: v.picklist(alertLevels),
	message: v.pipe(v.string(), v.maxLength(2000)),
	action: v.nullable(v.pipe(v.string(), v.maxLength(2000))),
	/** First and last step at which the rule matched. */
	step: v.number(),
	lastStep: v.number(),
	holds: v.boolean(),
	dismissed: v.boolean(),
	/** Rollouts that illustrate the alert. */
	evidence: v.array(evidenceSchema),
	/** Suggested recipe change: the key and its new value, or null if there is none. */
	recipe: v.nullable(
		v.object({
			key: text,
			suggestion: v.pipe(v.string(), v.maxLength(1000)),
			/** Whether the change can be applied to the current recipe. */
			applies: v.boolean(),
		}),
	),
});
export type DashboardAlert = v.InferOutput<typeof dashboardAlertSchema>;

export const dashboardAlertsSchema = v.object({
	/**
	 * `off`: disabled in the settings; `reading`: the run is being processed, and alerts are from a previous diagnosis.
	 */
	phase: v.picklist(['off', 'reading', 'ready']),
	/** Alerts, most likely cause first. */
	alerts: v.pipe(v.array(dashboardAlertSchema), v.maxLength(1000)),
	/** One sentence about the ongoing alerts, or about why there are none; null if not yet known. */
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
	/**
	 * Starts over with no rows. `rows` is the number of rows that follow in chunks, or null while the host is still
	 * reading. In that case, chunks are sent as they become available, followed by `loaded`.
	 */
	v.object({
		type: v.literal('snapshot'),
		sequence,
		runFolder: v.string(),
		run: dashboardRunSchema,
		marks: v.array(dashboardMarkSchema),
		/** Absent if no alerts are known yet. */
		alerts: v.optional(dashboardAlertsSchema),
		rows: v.nullable(count),
	}),
	/** Sent when the host has read all existing rows, with the row count. */
	v.object({ type: v.literal('loaded'), sequence, rows: count }),
	v.object({ type: v.literal('run'), sequence, run: dashboardRunSchema }),
	v.object({ type: v.literal('marks'), sequence, marks: v.array(dashboardMarkSchema) }),
	v.object({ type: v.literal('alerts'), sequence, alerts: dashboardAlertsSchema }),
	/**
	 * Sent while the host is reading a long run, until `loaded`: a sample of rows from the whole run, to be shown after
	 * the rows received so far.
	 */
	v.object({ type: v.literal('overview'), sequence, chunk: metricChunkSchema }),
	/** Replaces all rows from `chunk.from` onward. */
	v.object({ type: v.literal('rows'), sequence, chunk: metricChunkSchema }),
	/** Pins a step and highlights a metric's chart, for example when a link to them is opened. */
	v.object({
		type: v.literal('show'),
		sequence,
		step: v.nullable(v.number()),
		metric: v.nullable(v.pipe(v.string(), v.maxLength(1000))),
	}),
]);
export type DashboardEvent = v.InferOutput<typeof dashboardEventSchema>;

export const dashboardCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('resync') }),
	/** An error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type DashboardCommand = v.InferOutput<typeof dashboardCommandSchema>;

/** Maximum size of an exported file, in bytes. */
export const largestExport = 512 << 20;

const done = v.object({});

export const dashboardRequests = {
	/** Runs the command named by `action` on the run. */
	act: { params: v.object({ action: v.picklist(dashboardActions) }), result: done },
	/** Runs the command for a next step on the run. */
	next: { params: v.object({ step: v.picklist(nextStepNames) }), result: done },
	/** Opens the rollouts panel at the latest step with rollouts, up to `step`. */
	openRollouts: { params: v.object({ step: v.nullable(v.number()) }), result: done },
	/**
	 * Opens rollouts that illustrate an alert: the evidence item with this index, or the rollouts at the alert's step.
	 */
	showEvidence: { params: v.object({ id: text, item: v.nullable(count) }), result: done },
	/** Opens the recipe at an alert's key. */
	showRecipe: { params: v.object({ id: text }), result: done },
	/** Applies an alert's suggested change in the recipe editor without saving. */
	applyAdvice: { params: v.object({ id: text }), result: done },
	dismissAlert: { params: v.object({ id: text, dismissed: v.boolean() }), result: done },
	/** Returns the charts pinned in this workspace. */
	pinned: { params: done, result: v.object({ charts: pinnedChartsSchema }) },
	/** Pins a chart for the workspace, or unpins it. */
	pin: { params: v.object({ chart: pinnedChartSchema, pinned: v.boolean() }), result: done },
	/** Opens the setting that enables diagnosis. */
	openDiagnosisSetting: { params: done, result: done },
	/** Asks the user for a file name and writes the bytes. `saved` is false if the user canceled. */
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
