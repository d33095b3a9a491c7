import * as v from 'valibot';

export const alertLevels = ['info', 'warning', 'error'] as const;
export type AlertLevel = (typeof alertLevels)[number];

/** A rollout that shows what an alert says; without `index`, a whole group. */
export const evidenceSchema = v.object({
	step: v.number(),
	group: v.number(),
	index: v.optional(v.number()),
});

export const recipePathSchema = v.array(v.union([v.string(), v.number()]));

/** A change of one key of a recipe. An index one past the end of a list appends; without `value` the key is removed. */
export const recipeEditSchema = v.object({ path: recipePathSchema, value: v.optional(v.unknown()) });
export type RecipeEdit = v.InferOutput<typeof recipeEditSchema>;

/**
 * Something a run does that a person should look at, found by a rule of src/core/diagnosis. Kept in
 * annotations/alerts.jsonl (the lab's; the engine's own are events of the run).
 */
export const alertSchema = v.looseObject({
	/** Rule and what it is about: "dead-groups", "dominant-reward:length"; one alert an id in a run. */
	id: v.string(),
	rule: v.string(),
	level: v.picklist(alertLevels),
	/** The step at which it began to hold. */
	step: v.number(),
	/** The last step at which it held; it holds still when that is the newest. */
	lastStep: v.number(),
	/** Of the metrics line at `step`; seconds since the epoch. */
	time: v.number(),
	/** One sentence: what, with the numbers. */
	message: v.string(),
	/** One sentence: what to do about it. */
	action: v.nullable(v.string()),
	/** The metrics by which it was seen, by canonical name. */
	metrics: v.array(v.string()),
	evidence: v.array(evidenceSchema),
	/** Short noun phrase for the likely cause, such as "learning rate too high"; absent: the title of the rule. */
	cause: v.optional(v.string()),
	/** Rules whose alerts are likely consequences of this one, beyond those of its rule. */
	explains: v.optional(v.array(v.string())),
	/** The key of the recipe to change, as a path, and what to change it to, in words; null: none. */
	recipe: v.nullable(
		v.object({
			path: recipePathSchema,
			suggestion: v.string(),
			/** The same as changes that can be applied to the recipe as they are, in order; absent: a person decides. */
			edits: v.optional(v.array(recipeEditSchema)),
		}),
	),
});
export type Alert = v.InferOutput<typeof alertSchema>;
export type Evidence = v.InferOutput<typeof evidenceSchema>;
