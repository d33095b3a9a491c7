import * as v from 'valibot';

export const runFormat = 1;

/** Engines that a recipe can name. */
export const trainingEngines = ['embedded', 'pytorch', 'ray'] as const;
/** `foreign`: another trainer's run, read by an importer; no run.json says that. */
export const engineNames = [...trainingEngines, 'foreign'] as const;
export type EngineName = (typeof engineNames)[number];

/** Who wrote a run that no engine of ours has written, and what its reader has to say about it. */
export const foreignRunSchema = v.object({
	/** Name of the format: `trl`, `verl`. */
	format: v.string(),
	/** The trainer for a person: "TRL". */
	title: v.string(),
	/** What the format does not record, and what was inferred instead, a sentence each. */
	notes: v.array(v.string()),
});
export type ForeignRun = v.InferOutput<typeof foreignRunSchema>;

export const runStatuses = ['starting', 'running', 'paused', 'finished', 'stopped', 'crashed'] as const;
export type RunStatus = (typeof runStatuses)[number];
/** How a run ends that neither crashes nor is refused. */
export type OrderlyEnd = Extract<RunStatus, 'finished' | 'stopped'>;

/** run.json: identity and state of a run. Unknown fields are kept. Times are seconds since the epoch. */
export const runRecordSchema = v.looseObject({
	format: v.number(),
	id: v.string(),
	name: v.string(),
	engine: v.picklist(engineNames),
	status: v.picklist(runStatuses),
	/** Grows with every resume in place; readers start again when it does. */
	attempt: v.number(),
	stage: v.nullable(v.string()),
	/** Optimizer updates done, over all stages. */
	step: v.number(),
	/** Upper bound; a stage may end earlier by a measured quantity. */
	totalSteps: v.nullable(v.number()),
	created: v.number(),
	updated: v.number(),
	heartbeat: v.number(),
	host: v.string(),
	boot: v.string(),
	pid: v.number(),
	/** Start time of the process as its system tells it; with pid and boot it names one process. */
	processStart: v.string(),
	/** What the engine computes on, in words: "cpu (2 workers)". */
	device: v.string(),
	parent: v.nullable(v.object({ run: v.string(), checkpoint: v.string() })),
	seeds: v.record(v.string(), v.number()),
	versions: v.record(v.string(), v.string()),
	hashes: v.object({ recipe: v.string(), dataset: v.string(), rewards: v.string() }),
	/** The columns of rewards in metrics and rollouts, once the rewards are loaded. */
	rewards: v.optional(v.array(v.object({ name: v.string(), weight: v.number() }))),
	/** Why the run has paused by itself; only while it is paused. */
	pause: v.optional(v.object({ message: v.string(), action: v.optional(v.string()), time: v.number() })),
	/** Only of runs that an importer reads. */
	foreign: v.optional(foreignRunSchema),
	/** Tags and a note are the person's, not the engine's: they are in annotations/. */
	error: v.optional(v.object({ reason: v.string(), message: v.string(), action: v.optional(v.string()) })),
});
export type RunRecord = v.InferOutput<typeof runRecordSchema>;

const _shown = v.looseObject({ ...runRecordSchema.entries, step: v.nullable(v.number()) });
/** The record of a run of any trainer. `step` is null where nothing in another trainer's files states one. */
export type AnyRunRecord = v.InferOutput<typeof _shown>;

/** annotations/person.json: what a person says about a run; written by the lab, never by the engine. */
export const runAnnotationSchema = v.looseObject({
	format: v.literal(1),
	name: v.optional(v.string()),
	tags: v.optional(v.array(v.string())),
	note: v.optional(v.string()),
});
export type RunAnnotation = v.InferOutput<typeof runAnnotationSchema>;
