import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';
import { stageNamePattern } from './pipelineFiles.ts';
import { dataKinds } from './recipeKeys/pipelineRecipe.ts';

export { pipelineFiles } from './pipelineFiles.ts';

/*
 * A pipeline is a folder. `pipeline.json` contains its state, `pipeline.recipe.json` is its recipe, and each stage has
 * a folder with its name. The folder of a training stage is an ordinary run. See docs/pipelines.md.
 */

export const pipelineFormat = 1;

export const pipelineStatuses = ['starting', 'running', 'finished', 'stopped', 'failed', 'crashed'] as const;
/**
 * `crashed` is never written. It is the status of a pipeline that claims to be running although its runner has exited.
 */
export type PipelineStatus = (typeof pipelineStatuses)[number];

/** Number of concurrent stages. */
export const parallelSchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(16));

export const stageStatuses = ['waiting', 'running', 'finished', 'skipped', 'failed', 'stopped'] as const;

export const outputKinds = ['last-checkpoint', 'best-checkpoint', ...dataKinds, 'report'] as const;
export type OutputKind = (typeof outputKinds)[number];

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Path inside the stage's folder. No component can lead outside it. */
const inside = v.pipe(v.string(), v.regex(/^(?:(?!\.{1,2}(?:\/|$))[\w.][\w.-]*(?:\/(?!$)|$))+$/));
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

/** Output of a stage with its hash, so that manual changes can be detected when the pipeline is resumed. */
export const stageOutputSchema = v.object({
	kind: v.picklist(outputKinds),
	/** Path relative to the stage's folder, with `/` as the separator. */
	path: inside,
	/** For a folder: hash of the names and hashes of its files. */
	sha256,
	bytes: whole,
});
export type StageOutput = v.InferOutput<typeof stageOutputSchema>;

const amount = v.pipe(v.number(), v.finite(), v.minValue(0));

/** Usage by the policies and judges of a search or an evaluation, across all attempts of the stage. */
export const stageUsageSchema = v.object({
	requests: amount,
	/** Generated tokens, without prompts. */
	tokens: amount,
	/** Cost of requests to policies with a price, one entry per currency; empty if no policy has one. */
	costs: v.array(v.object({ amount, currency: v.string() })),
});
export type StageUsage = v.InferOutput<typeof stageUsageSchema>;

export const stageStateSchema = v.looseObject({
	/** Stage name, also used for its folder. */
	name: v.pipe(v.string(), v.regex(stageNamePattern)),
	type: v.string(),
	status: v.picklist(stageStatuses),
	/** For a stage in a loop, the original stage and the round. */
	round: v.optional(v.object({ of: v.string(), number: whole })),
	/** Names of the stages that this stage depends on. */
	after: v.array(v.string()),
	/** Hash of the stage's settings and all of its inputs when it was started. */
	inputHash: v.nullable(sha256),
	outputs: v.array(stageOutputSchema),
	/** Times in seconds since the epoch. */
	started: v.nullable(v.number()),
	ended: v.nullable(v.number()),
	/** Attempt of the stage's run that is being tracked; null if there is none yet. */
	attempt: v.nullable(v.number()),
	/** Held-out accuracy from the stage's last evaluation. */
	accuracy: v.nullable(v.number()),
	/** Progress of a stage that the runner executes itself. */
	progress: v.optional(v.object({ done: whole, total: v.nullable(whole) })),
	/** Why the stage was skipped. */
	skipped: v.optional(v.string()),
	/** Total active time in seconds, across all attempts. */
	spent: v.optional(v.number()),
	/** For a stage that the runner executes itself. Earlier versions did not record it. */
	usage: v.optional(stageUsageSchema),
	/** What a stage whose inputs are ready is waiting for: memory or, if its memory use is unknown, all other stages. */
	wait: v.optional(v.picklist(['memory', 'alone'])),
	/** Why the stage was ended early. */
	cut: v.optional(v.string()),
	/** The part that failed, if the stage finished despite the failure. */
	partial: v.optional(v.string()),
	/** Folders with earlier results that were moved aside. */
	kept: v.optional(v.array(v.string())),
	error: v.optional(failureDataSchema),
});
export type StageState = v.InferOutput<typeof stageStateSchema>;

/** Schema of pipeline.json. Unknown fields are preserved. Times are in seconds since the epoch. */
export const pipelineRecordSchema = v.looseObject({
	format: v.number(),
	id: v.string(),
	name: v.string(),
	status: v.picklist(pipelineStatuses),
	/** Incremented on every resume. */
	attempt: v.number(),
	created: v.number(),
	updated: v.number(),
	heartbeat: v.number(),
	host: v.string(),
	boot: v.string(),
	pid: v.number(),
	processStart: v.string(),
	/** Maximum number of concurrent stages; default: 1. */
	parallel: v.optional(parallelSchema),
	/** Base folder for relative paths in the recipe. */
	recipeFolder: v.string(),
	hashes: v.object({ recipe: sha256 }),
	/** Stages in execution order. */
	stages: v.array(stageStateSchema),
	error: v.optional(failureDataSchema),
});
export type PipelineRecord = v.InferOutput<typeof pipelineRecordSchema>;
