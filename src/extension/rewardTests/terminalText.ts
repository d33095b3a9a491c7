/**
 * Sanitizes a line for the terminal of a test run. Reward output can contain text written by a model, so control
 * characters are replaced by spaces, which disables escape sequences.
 */
export function terminalLine(line: string): string {
	return `${line.replace(/\t/g, '    ').replace(/[\p{Cc}\p{Cf}]/gu, ' ')}\r\n`;
}
