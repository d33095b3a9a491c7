/** What spreadsheets take for the start of a formula, where it is no plain number: OWASP, "CSV Injection". */
export const formulaStart = /^[=+\-@\t\r]/;
const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** A text as a cell of CSV: one that a spreadsheet would run gets an apostrophe before it. Numbers stay numbers. */
export function spreadsheetText(text: string): string {
	return formulaStart.test(text) && !plainNumber.test(text) ? `'${text}` : text;
}
