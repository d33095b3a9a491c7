/** Width of a row in a list, in characters. */
const width = 120;

/** Returns a dataset row as one line of text. */
export function rowLabel(columns: Readonly<Record<string, unknown>>): string {
	const text = JSON.stringify(columns);
	return text.length > width ? `${text.slice(0, width)}…` : text;
}
