import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';

export const isolationAreas = ['network', 'files', 'processes', 'resources', 'environment', 'kernel'] as const;
export type IsolationArea = (typeof isolationAreas)[number];

/**
 * - `held`: the attempt failed, as it should; `escaped`: it succeeded
 * - `skipped`: there was nothing to attempt on this system
 * - `untried`: the attempt could not be completed, so the outcome is unknown; the evidence says why
 */
export const isolationOutcomes = ['held', 'escaped', 'skipped', 'untried'] as const;
export type IsolationOutcome = (typeof isolationOutcomes)[number];

/** An attempt to escape from the sandbox. */
export const isolationAttemptSchema = v.object({
	/** Attempt id: `tcp-loopback`, `read-home`. */
	id: v.string(),
	area: v.picklist(isolationAreas),
	/** What was attempted, and the expected outcome. */
	tried: v.string(),
	expected: v.string(),
	outcome: v.picklist(isolationOutcomes),
	/** Outcome as reported by the system. Written inside the sandbox, so the text is untrusted. */
	evidence: v.string(),
	durationMs: v.number(),
});
export type IsolationAttempt = v.InferOutput<typeof isolationAttemptSchema>;

/** Results of the sandbox check, as shown by the command line and the editor. */
export const isolationReportSchema = v.object({
	format: v.literal(1),
	kind: v.picklist(['bubblewrap', 'container', 'unsafe']),
	/** Description of the sandbox program and the protections it provides. */
	description: v.string(),
	/** Protections that are missing or unknown. */
	gaps: v.array(v.string()),
	attempts: v.array(isolationAttemptSchema),
	held: v.number(),
	/** Number of attempts that succeeded. */
	failed: v.number(),
	skipped: v.number(),
	untried: v.number(),
	durationMs: v.number(),
});
export type IsolationReport = v.InferOutput<typeof isolationReportSchema>;

/** Lines printed by `sandbox-check --json`: progress lines, followed by the report. */
export const isolationLineSchema = v.variant('kind', [
	v.object({ kind: v.literal('attempt'), done: v.number(), total: v.number(), attempt: isolationAttemptSchema }),
	v.object({ kind: v.literal('report'), report: isolationReportSchema }),
	v.looseObject({ kind: v.literal('error'), error: failureDataSchema }),
]);
