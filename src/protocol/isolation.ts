import * as v from 'valibot';

export const isolationAreas = ['network', 'files', 'processes', 'resources', 'environment', 'kernel'] as const;
export type IsolationArea = (typeof isolationAreas)[number];

/**
 * - `held`: the attempt failed, as it should; `escaped`: it succeeded
 * - `skipped`: there was nothing to try here
 * - `untried`: the attempt itself failed, so that nobody can say; its evidence is the reason
 */
export const isolationOutcomes = ['held', 'escaped', 'skipped', 'untried'] as const;
export type IsolationOutcome = (typeof isolationOutcomes)[number];

/** One try to get out of the sandbox. */
export const isolationAttemptSchema = v.object({
	/** `tcp-loopback`, `read-home`. */
	id: v.string(),
	area: v.picklist(isolationAreas),
	/** What was tried, and what should come of it. */
	tried: v.string(),
	expected: v.string(),
	outcome: v.picklist(isolationOutcomes),
	/** What came of it, in the words of the system. Written inside the sandbox: foreign text. */
	evidence: v.string(),
	durationMs: v.number(),
});
export type IsolationAttempt = v.InferOutput<typeof isolationAttemptSchema>;

/** What a sandbox held against, as the command line and the editor show it. */
export const isolationReportSchema = v.object({
	format: v.literal(1),
	kind: v.picklist(['bubblewrap', 'container', 'unsafe']),
	/** Which program isolates, and how far. */
	description: v.string(),
	/** Protections that are missing, or of which nobody knows. */
	gaps: v.array(v.string()),
	attempts: v.array(isolationAttemptSchema),
	held: v.number(),
	/** Attempts that succeeded. */
	failed: v.number(),
	skipped: v.number(),
	untried: v.number(),
	durationMs: v.number(),
});
export type IsolationReport = v.InferOutput<typeof isolationReportSchema>;

/** What `sandbox-check --json` prints, a line each: progress, then the report. */
export const isolationLineSchema = v.variant('kind', [
	v.object({ kind: v.literal('attempt'), done: v.number(), total: v.number(), attempt: isolationAttemptSchema }),
	v.object({ kind: v.literal('report'), report: isolationReportSchema }),
	v.looseObject({
		kind: v.literal('error'),
		error: v.looseObject({ reason: v.string(), message: v.string(), action: v.optional(v.string()) }),
	}),
]);
export type IsolationLine = v.InferOutput<typeof isolationLineSchema>;
