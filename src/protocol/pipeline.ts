import * as v from 'valibot';
import { stageNamePattern } from './pipelineFiles.ts';
import { dataKinds } from './pipelineRecipe.ts';

export { pipelineFiles } from './pipelineFiles.ts';

/*
 * A pipeline is a folder: `pipeline.json` says how it stands, `pipeline.recipe.json` is its recipe, and each stage has a
 * folder by its name, which for a stage that trains is an ordinary run. See docs/pipelines.md.
 */

export const pipelineFormat = 1;

export const pipelineStatuses = ['starting', 'running', 'finished', 'stopped', 'failed', 'crashed'] as const;
/** `crashed` is never written: it is what a pipeline is that claims to run while its runner does not live. */
export type PipelineStatus = (typeof pipelineStatuses)[number];

export const stageStatuses = ['waiting', 'running', 'finished', 'skipped', 'failed', 'stopped'] as const;
export type StageStatus = (typeof stageStatuses)[number];

export const outputKinds = ['last-checkpoint', 'best-checkpoint', ...dataKinds, 'report'] as const;
export type OutputKind = (typeof outputKinds)[number];

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
/** A place below the stage's folder; no part of it leads out. */
const inside = v.pipe(v.string(), v.regex(/^(?:(?!\.{1,2}(?:\/|$))[\w.][\w.-]*(?:\/(?!$)|$))+$/));
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

const failureSchema = v.object({ reason: v.string(), message: v.string(), action: v.optional(v.string()) });

/** What a stage has made, with its hash: who resumes sees whether it was changed by hand. */
export const stageOutputSchema = v.object({
	kind: v.picklist(outputKinds),
	/** Relative to the stage's folder, with "/". */
	path: inside,
	/** Of a folder: of the names and hashes of its files. */
	sha256,
	bytes: whole,
});
export type StageOutput = v.InferOutput<typeof stageOutputSchema>;

export const stageStateSchema = v.looseObject({
	/** Its folder has this name, too. */
	name: v.pipe(v.string(), v.regex(stageNamePattern)),
	type: v.string(),
	status: v.picklist(stageStatuses),
	/** Which round of which stage of a loop it is. */
	round: v.optional(v.object({ of: v.string(), number: whole })),
	/** Names of the stages that it waits for. */
	after: v.array(v.string()),
	/** Of its settings and of all that it reads, when it was started. */
	inputHash: v.nullable(sha256),
	outputs: v.array(stageOutputSchema),
	/** Times in seconds since the epoch. */
	started: v.nullable(v.number()),
	ended: v.nullable(v.number()),
	/** The attempt of its run that is followed; null: none yet. */
	attempt: v.nullable(v.number()),
	/** What its last evaluation measured on held-out problems. */
	accuracy: v.nullable(v.number()),
	/** Of a stage that the runner does itself. */
	progress: v.optional(v.object({ done: whole, total: v.nullable(whole) })),
	/** Why it was left out. */
	skipped: v.optional(v.string()),
	/** Seconds that it was worked on, in all attempts. */
	spent: v.optional(v.number()),
	/** Why it was ended before its time. */
	cut: v.optional(v.string()),
	/** What of it failed, though it finished. */
	partial: v.optional(v.string()),
	/** Folders of earlier results that were set aside. */
	kept: v.optional(v.array(v.string())),
	error: v.optional(failureSchema),
});
export type StageState = v.InferOutput<typeof stageStateSchema>;

/** pipeline.json. Unknown fields are kept. Times are seconds since the epoch. */
export const pipelineRecordSchema = v.looseObject({
	format: v.number(),
	id: v.string(),
	name: v.string(),
	status: v.picklist(pipelineStatuses),
	/** Grows with every resume. */
	attempt: v.number(),
	created: v.number(),
	updated: v.number(),
	heartbeat: v.number(),
	host: v.string(),
	boot: v.string(),
	pid: v.number(),
	processStart: v.string(),
	/** Where relative paths of the recipe start. */
	recipeFolder: v.string(),
	hashes: v.object({ recipe: sha256 }),
	/** In the order in which they are run. */
	stages: v.array(stageStateSchema),
	error: v.optional(failureSchema),
});
export type PipelineRecord = v.InferOutput<typeof pipelineRecordSchema>;
