/** What spreadsheets treat as the start of a formula, unless it is a number: OWASP, "CSV Injection". */
export const formulaStart = /^[=+\-@\t\r]/;
const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Escapes a text for a CSV cell: one that a spreadsheet would execute is prefixed with an apostrophe. Numbers stay
 * numbers.
 */
export function spreadsheetText(text: string): string {
	return formulaStart.test(text) && !plainNumber.test(text) ? `'${text}` : text;
}
