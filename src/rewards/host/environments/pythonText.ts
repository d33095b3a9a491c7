const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Formats a string as Python's `repr` does. Trainers write `str({"error": message})` into the conversation, and models
 * should see the same text in both languages.
 */
export function pythonText(text: string): string {
	const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
	// Python also escapes characters that are not printable.
	const body = text.replace(/[\\\n\r\t]|[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (char) => escapes[char] ?? code(char));
	return quote + (quote === "'" ? body.replaceAll("'", "\\'") : body) + quote;
}

function code(char: string): string {
	const point = char.codePointAt(0) as number;
	if (point < 0x100) return `\\x${point.toString(16).padStart(2, '0')}`;
	return point < 0x10000 ? `\\u${point.toString(16).padStart(4, '0')}` : `\\U${point.toString(16).padStart(8, '0')}`;
}
