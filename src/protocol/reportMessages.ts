import * as v from 'valibot';

/*
 * Messages between the report panel and its webview, in the envelope of webviewMessages.ts. A report is a Markdown
 * file whose citations (`rl://`) are checked by the MCP server's `check_citations`.
 */

/** Maximum length of a report, in UTF-16 code units: the same limit as in the `write_report` tool. */
export const longestReport = 500_000;

const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));
const message = v.pipe(v.string(), v.maxLength(2000));
const address = v.pipe(v.string(), v.maxLength(4000));

export const citationStatuses = ['ok', 'no-number', 'different', 'no-data', 'unresolved', 'malformed'] as const;

/** A citation as checked by the MCP server (src/mcp/citations/checkCitations.ts). */
export const checkedCitationSchema = v.object({
	address: v.string(),
	line: v.number(),
	status: v.picklist(citationStatuses),
	/** Quoted numbers that are not in the data. */
	wrong: v.array(v.string()),
	/** Values in the data. */
	data: v.array(v.object({ name: v.string(), value: v.number() })),
	/** Why the address is unresolved or malformed. */
	problem: v.nullable(v.string()),
});
export type ReportCitation = v.InferOutput<typeof checkedCitationSchema>;

export const reportEventSchema = v.variant('type', [
	v.object({ type: v.literal('report'), path, name: message, text: v.pipe(v.string(), v.maxLength(longestReport)) }),
	/** Citations in text order. */
	v.object({ type: v.literal('checked'), citations: v.array(checkedCitationSchema) }),
	/** The citations could not be checked. */
	v.object({ type: v.literal('unchecked'), message }),
	v.object({ type: v.literal('missing'), path, message }),
]);
export type ReportEvent = v.InferOutput<typeof reportEventSchema>;

export const reportCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('open'), address }),
	v.object({ type: v.literal('source') }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type ReportCommand = v.InferOutput<typeof reportCommandSchema>;

export const reportRequests = {
	/** Reads a metric's curve: steps and values, at most a few hundred. */
	curve: {
		params: v.object({ address }),
		result: v.object({ points: v.array(v.tuple([v.number(), v.nullable(v.number())])) }),
	},
} as const;

/** Part of the saved state that the panel uses. */
export const reportStateSchema = v.object({ path });
