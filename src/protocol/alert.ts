import * as v from 'valibot';

export const alertLevels = ['info', 'warning', 'error'] as const;
export type AlertLevel = (typeof alertLevels)[number];

/** A rollout that illustrates an alert. Without `index`, refers to the whole group. */
export const evidenceSchema = v.object({
	step: v.number(),
	group: v.number(),
	index: v.optional(v.number()),
});

export const recipePathSchema = v.array(v.union([v.string(), v.number()]));

/** An edit to a single recipe key. An index one past the end of a list appends. Without `value`, the key is removed. */
export const recipeEditSchema = v.object({ path: recipePathSchema, value: v.optional(v.unknown()) });
export type RecipeEdit = v.InferOutput<typeof recipeEditSchema>;

/**
 * A problem in a run that the user should look at, detected by a rule in src/core/diagnosis. Stored in
 * annotations/alerts.jsonl. The engine's own alerts are recorded as run events instead.
 */
export const alertSchema = v.looseObject({
	/** Rule and subject: "dead-groups", "dominant-reward:length". Each run has at most one alert per id. */
	id: v.string(),
	rule: v.string(),
	level: v.picklist(alertLevels),
	/** First step at which the rule matched. */
	step: v.number(),
	/** Last step at which the rule matched. If this is the newest step, the alert is ongoing. */
	lastStep: v.number(),
	/** Time of the metrics line at `step`, in seconds since the epoch. */
	time: v.number(),
	/** One sentence that describes the problem, with numbers. */
	message: v.string(),
	/** One sentence that recommends an action. */
	action: v.nullable(v.string()),
	/** Canonical names of the metrics that show the problem. */
	metrics: v.array(v.string()),
	evidence: v.array(evidenceSchema),
	/** Short noun phrase for the likely cause, such as "learning rate too high". Default: the rule's title. */
	cause: v.optional(v.string()),
	/** Rules whose alerts are likely consequences of this one, in addition to those listed by its rule. */
	explains: v.optional(v.array(v.string())),
	/** Path of the recipe key to change, and a description of its new value; null if no change is suggested. */
	recipe: v.nullable(
		v.object({
			path: recipePathSchema,
			suggestion: v.string(),
			/** The same change, expressed as edits to apply to the recipe in order. Absent if the user has to decide. */
			edits: v.optional(v.array(recipeEditSchema)),
		}),
	),
});
export type Alert = v.InferOutput<typeof alertSchema>;
export type Evidence = v.InferOutput<typeof evidenceSchema>;
