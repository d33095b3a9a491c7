import * as v from 'valibot';

const lines = v.array(v.number());

const rewardFactsSchema = v.object({
	name: v.string(),
	line: v.number(),
	async: v.boolean(),
	/** Parameters that map to dataset columns; `required` lists those without a default. */
	columns: v.array(v.string()),
	required: v.array(v.string()),
	/** Parameters that only TRL provides: completion_ids, trainer_state, log_extra, log_metric. */
	trainerArguments: v.array(v.string()),
	/** Whether the function accepts `**kwargs`. */
	anyColumn: v.boolean(),
	weight: v.nullable(v.number()),
	batchOnly: v.boolean(),
	/** Lines that can return None, read completions as messages, or use the whole batch. */
	noneLines: lines,
	messageLines: lines,
	batchLines: lines,
});
export type RewardFacts = v.InferOutput<typeof rewardFactsSchema>;

/** Facts about a Python reward file that affect its export, extracted from its source. */
export const fileFactsSchema = v.object({
	imports: v.array(v.object({ module: v.string(), line: v.number() })),
	/** Module-level values that cannot be pickled. */
	handles: v.array(v.object({ line: v.number(), what: v.string() })),
	lambdaLines: lines,
	/** Functions and classes defined in the module. */
	names: v.array(v.string()),
	rewards: v.array(rewardFactsSchema),
});
export type FileFacts = v.InferOutput<typeof fileFactsSchema>;

/** Script output: the facts, or a parse error. */
export const factsReplySchema = v.union([
	v.object({ error: v.object({ message: v.string(), line: v.nullable(v.number()) }) }),
	fileFactsSchema,
]);
