import * as v from 'valibot';
import { pipelineStatuses, stageStatuses } from './pipeline.ts';

/*
 * Messages between the pipeline graph panel and its webview, in the envelope of webviewMessages.ts. Each
 * event contains the whole pipeline.
 */

const text = v.pipe(v.string(), v.maxLength(400));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

export const graphStageSchema = v.object({
	/** Identifies the stage. */
	name: text,
	type: text,
	status: v.picklist(stageStatuses),
	/** For a stage in a loop, the original stage and the round. */
	round: v.nullable(v.object({ of: text, number: whole })),
	/** Names of the stages that this stage depends on. */
	after: v.array(text),
	/** Progress in steps or problems; null before the stage starts. */
	done: v.nullable(v.number()),
	total: v.nullable(v.number()),
	/** Held-out accuracy, 0 to 1. */
	accuracy: v.nullable(v.number()),
	/** Active time in seconds. */
	seconds: v.nullable(v.number()),
	/** Device of the stage's run; null if unknown. */
	device: v.nullable(text),
	/** Tokens trained on, sampled or generated; null if not recorded. */
	tokens: v.nullable(v.number()),
	/** Cost of requests to policies with a price. */
	costs: v.pipe(v.array(v.object({ amount: v.number(), currency: text })), v.maxLength(20)),
	/** Why the stage is waiting, was skipped, ended early, or failed. */
	why: v.nullable(text),
	/** Whether there is anything to open. */
	opens: v.boolean(),
});
export type GraphStage = v.InferOutput<typeof graphStageSchema>;

export const pipelineGraphEventSchema = v.variant('type', [
	v.object({
		type: v.literal('pipeline'),
		/** Absolute path. */
		folder: v.pipe(v.string(), v.maxLength(4096)),
		name: text,
		status: v.picklist(pipelineStatuses),
		stages: v.array(graphStageSchema),
	}),
	/** The folder does not contain a pipeline (or no longer does). */
	v.object({ type: v.literal('missing'), folder: v.pipe(v.string(), v.maxLength(4096)) }),
]);
export type PipelineGraphEvent = v.InferOutput<typeof pipelineGraphEventSchema>;

export const pipelineActions = ['resume', 'stop', 'recipe', 'log'] as const;
export type PipelineAction = (typeof pipelineActions)[number];

export const pipelineGraphCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('open'), stage: text }),
	v.object({ type: v.literal('act'), action: v.picklist(pipelineActions) }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type PipelineGraphCommand = v.InferOutput<typeof pipelineGraphCommandSchema>;

export const pipelineGraphRequests = {} as const;

/** Part of the saved state that the panel uses. */
export const pipelineGraphStateSchema = v.looseObject({
	folder: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
});
