import * as v from 'valibot';
import { rowErrorSchema } from './verification.ts';

export const auditSeverities = ['high', 'medium', 'low'] as const;

/** A probe that scored as high as an honest correct answer on at least one row. */
export const auditFindingSchema = v.object({
	/** Id of the probe: `every-candidate`, `gold-from-prompt`. */
	probe: v.string(),
	title: v.string(),
	/** What findings like it come from: "Compares numbers too loosely". */
	cause: v.string(),
	severity: v.picklist(auditSeverities),
	/** Rows tried with it, and those on which it scored at least as high as the honest right answer. */
	rows: v.number(),
	fooled: v.number(),
	/** The clearest rows: at most five. */
	evidence: v.array(
		v.object({
			prompt: v.string(),
			answer: v.nullable(v.string()),
			completion: v.string(),
			truncated: v.optional(v.literal(true)),
			/** The gold answer and the columns as they were scored; absent: they or a text are shortened, or were messages. */
			given: v.optional(v.object({ answer: v.unknown(), row: v.record(v.string(), v.unknown()) })),
			value: v.number(),
			honest: v.number(),
		}),
	),
	/** The likely fix, one or two sentences. */
	fix: v.string(),
});
export type AuditFinding = v.InferOutput<typeof auditFindingSchema>;

export const probeOutcomeSchema = v.object({
	probe: v.string(),
	title: v.string(),
	/** `skipped`: the rows or the reward give it nothing to try; `error`: the reward failed on it. */
	outcome: v.picklist(['held', 'finding', 'skipped', 'error']),
	rows: v.number(),
	fooled: v.number(),
	/** Why it was skipped, or the first error. */
	detail: v.optional(v.string()),
	error: v.optional(rowErrorSchema),
});
export type ProbeOutcome = v.InferOutput<typeof probeOutcomeSchema>;

export const auditReportSchema = v.object({
	format: v.literal(1),
	file: v.string(),
	reward: v.string(),
	data: v.array(v.string()),
	/** Rows that the probes were built from: those whose honest right answer has a value. */
	rows: v.number(),
	/** Mean value of the honest right answers. */
	honest: v.nullable(v.number()),
	probes: v.array(probeOutcomeSchema),
	/** Worst first. */
	findings: v.array(auditFindingSchema),
	remarks: v.array(v.string()),
	durationMs: v.number(),
});
export type AuditReport = v.InferOutput<typeof auditReportSchema>;
