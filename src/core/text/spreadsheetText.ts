/** Matches the start of text that spreadsheets treat as a formula, unless it is a number (OWASP, "CSV Injection"). */
export const formulaStart = /^[=+\-@\t\r]/;
const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Escapes text for a CSV cell by prepending an apostrophe if a spreadsheet would execute it as a formula. Numbers are
 * not changed.
 */
export function spreadsheetText(text: string): string {
	return formulaStart.test(text) && !plainNumber.test(text) ? `'${text}` : text;
}
