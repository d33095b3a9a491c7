import * as v from 'valibot';
import { rowErrorSchema } from './verification.ts';

export const auditSeverities = ['high', 'medium', 'low'] as const;

/** A probe that scored at least as high as a genuinely correct answer on at least one row. */
export const auditFindingSchema = v.object({
	/** Probe id: `every-candidate`, `gold-from-prompt`. */
	probe: v.string(),
	title: v.string(),
	/** Common cause of such findings: "Compares numbers too loosely". */
	cause: v.string(),
	severity: v.picklist(auditSeverities),
	/** Number of rows tried, and number on which the probe scored at least as high as the genuinely correct answer. */
	rows: v.number(),
	fooled: v.number(),
	/** Up to five rows with the clearest examples. */
	evidence: v.array(
		v.object({
			prompt: v.string(),
			answer: v.nullable(v.string()),
			completion: v.string(),
			truncated: v.optional(v.literal(true)),
			/**
			 * Gold answer and columns, as scored. Absent if a value was truncated or if the input was a list of
			 * messages.
			 */
			given: v.optional(v.object({ answer: v.unknown(), row: v.record(v.string(), v.unknown()) })),
			value: v.number(),
			honest: v.number(),
		}),
	),
	/** Likely fix, in one or two sentences. */
	fix: v.string(),
});
export type AuditFinding = v.InferOutput<typeof auditFindingSchema>;

export const probeOutcomeSchema = v.object({
	probe: v.string(),
	title: v.string(),
	/** `skipped`: the rows or the reward leave nothing to test; `error`: the reward failed. */
	outcome: v.picklist(['held', 'finding', 'skipped', 'error']),
	rows: v.number(),
	fooled: v.number(),
	/** Why the probe was skipped, or the first error. */
	detail: v.optional(v.string()),
	error: v.optional(rowErrorSchema),
});
export type ProbeOutcome = v.InferOutput<typeof probeOutcomeSchema>;

export const auditReportSchema = v.object({
	format: v.literal(1),
	file: v.string(),
	reward: v.string(),
	data: v.array(v.string()),
	/** Number of rows used to build probes. Only rows whose genuinely correct answer has a value are used. */
	rows: v.number(),
	/** Mean value of the genuinely correct answers. */
	honest: v.nullable(v.number()),
	probes: v.array(probeOutcomeSchema),
	/** Findings, most severe first. */
	findings: v.array(auditFindingSchema),
	remarks: v.array(v.string()),
	durationMs: v.number(),
});
export type AuditReport = v.InferOutput<typeof auditReportSchema>;
