import * as v from 'valibot';

const lines = v.array(v.number());

const rewardFactsSchema = v.object({
	name: v.string(),
	line: v.number(),
	async: v.boolean(),
	/** Parameters that are dataset columns, and those of them without a default. */
	columns: v.array(v.string()),
	required: v.array(v.string()),
	/** Parameters that only TRL fills: completion_ids, trainer_state, log_extra, log_metric. */
	trainerArguments: v.array(v.string()),
	/** It takes `**kwargs`. */
	anyColumn: v.boolean(),
	weight: v.nullable(v.number()),
	batchOnly: v.boolean(),
	/** Where None can get into the result; where completions are read as messages; where the batch is looked over. */
	noneLines: lines,
	messageLines: lines,
	batchLines: lines,
});
export type RewardFacts = v.InferOutput<typeof rewardFactsSchema>;

/** What the source of a Python reward file says of itself, as far as an export depends on it. */
export const fileFactsSchema = v.object({
	imports: v.array(v.object({ module: v.string(), line: v.number() })),
	/** Module-level values that cannot go to another process. */
	handles: v.array(v.object({ line: v.number(), what: v.string() })),
	lambdaLines: lines,
	/** Functions and classes of the module. */
	names: v.array(v.string()),
	rewards: v.array(rewardFactsSchema),
});
export type FileFacts = v.InferOutput<typeof fileFactsSchema>;

/** What the script prints: facts, or why the file cannot be parsed. */
export const factsReplySchema = v.union([
	v.object({ error: v.object({ message: v.string(), line: v.nullable(v.number()) }) }),
	fileFactsSchema,
]);
