import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';

export const runFormat = 1;

/** Engines that can be set in a recipe. */
export const trainingEngines = ['embedded', 'pytorch', 'ray'] as const;
/** `foreign` marks another trainer's run, read by an importer; it never appears in run.json. */
export const engineNames = [...trainingEngines, 'foreign'] as const;
export type EngineName = (typeof engineNames)[number];

/** Trainer that wrote a run not produced by our engines, and notes from the importer. */
export const foreignRunSchema = v.object({
	/** Format name: `trl`, `verl`. */
	format: v.string(),
	/** Trainer display name: "TRL". */
	title: v.string(),
	/** Notes on data that the format does not record and on what was inferred instead, one sentence each. */
	notes: v.array(v.string()),
});
export type ForeignRun = v.InferOutput<typeof foreignRunSchema>;

export const runStatuses = ['starting', 'running', 'paused', 'finished', 'stopped', 'crashed'] as const;
export type RunStatus = (typeof runStatuses)[number];
/** What a running engine can wait for. */
export const engineWaits = ['device', 'loading', 'job', 'cluster', 'restart'] as const;
export type EngineWaitKind = (typeof engineWaits)[number];
/** End status of a run that neither crashed nor was rejected. */
export type OrderlyEnd = Extract<RunStatus, 'finished' | 'stopped'>;

/** run.json: identity and state of a run. Unknown fields are preserved. Times are in seconds since the epoch. */
export const runRecordSchema = v.looseObject({
	format: v.number(),
	id: v.string(),
	name: v.string(),
	engine: v.picklist(engineNames),
	status: v.picklist(runStatuses),
	/** Incremented on every in-place resume; readers then start over. */
	attempt: v.number(),
	stage: v.nullable(v.string()),
	/** Number of completed optimizer updates, across all stages. */
	step: v.number(),
	/** Upper bound, since a metric can end a stage early. */
	totalSteps: v.nullable(v.number()),
	created: v.number(),
	updated: v.number(),
	heartbeat: v.number(),
	host: v.string(),
	boot: v.string(),
	pid: v.number(),
	/** Process start time as reported by the system; together with pid and boot it identifies one process. */
	processStart: v.string(),
	/** Description of the compute device: "cpu (2 workers)". */
	device: v.string(),
	/** What the engine is waiting for before it can continue; present only while it waits. */
	wait: v.optional(v.picklist(engineWaits)),
	parent: v.nullable(v.object({ run: v.string(), checkpoint: v.string() })),
	seeds: v.record(v.string(), v.number()),
	versions: v.record(v.string(), v.string()),
	hashes: v.object({ recipe: v.string(), dataset: v.string(), rewards: v.string() }),
	/** Reward columns in metrics and rollouts, available once the rewards are loaded. */
	rewards: v.optional(v.array(v.object({ name: v.string(), weight: v.number() }))),
	/** Why the run paused itself; present only while it is paused. */
	pause: v.optional(v.object({ message: v.string(), action: v.optional(v.string()), time: v.number() })),
	/** Present only on runs read by an importer. */
	foreign: v.optional(foreignRunSchema),
	/** Tags and notes are not in this file: they belong to the user, not the engine, and are stored in annotations/. */
	error: v.optional(failureDataSchema),
});
export type RunRecord = v.InferOutput<typeof runRecordSchema>;

const _shown = v.looseObject({ ...runRecordSchema.entries, step: v.nullable(v.number()) });
/** Record of a run from any trainer. `step` is null if another trainer's files contain no step. */
export type AnyRunRecord = v.InferOutput<typeof _shown>;

/** annotations/person.json: the user's annotations on a run. Written by the extension, never by the engine. */
export const runAnnotationSchema = v.looseObject({
	format: v.literal(1),
	name: v.optional(v.string()),
	tags: v.optional(v.array(v.string())),
	note: v.optional(v.string()),
});
export type RunAnnotation = v.InferOutput<typeof runAnnotationSchema>;
