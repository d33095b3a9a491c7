/**
 * A line for the terminal of a test run. What a reward prints may hold what a model wrote, and that must not drive the
 * terminal: control characters become blanks, so that no escape sequence is left.
 */
export function terminalLine(line: string): string {
	return `${line.replace(/\t/g, '    ').replace(/[\p{Cc}\p{Cf}]/gu, ' ')}\r\n`;
}
