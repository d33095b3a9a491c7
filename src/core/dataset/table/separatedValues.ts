/** Candidate delimiters; on a tie, the earlier one wins. */
const delimiters = ['\t', ';', '|', ','] as const;

/** Guesses a table's delimiter from its first line: the one that occurs most often outside quotes. */
export function guessDelimiter(line: string): string {
	const bare = line.replace(/"[^"]*"/g, '');
	const counts = delimiters.map((delimiter) => bare.split(delimiter).length);
	const max = Math.max(...counts);
	return max === 1 ? ',' : (delimiters[counts.indexOf(max)] as string);
}

/** Splits one record into fields (RFC 4180). Text after a closing quote is kept as part of the field. */
export function parseSeparated(record: string, delimiter: string): string[] {
	const fields: string[] = [];
	const end = record.endsWith('\r') ? record.length - 1 : record.length;
	for (let at = 0; ; ) {
		let field = '';
		if (record[at] === '"') {
			at++;
			for (;;) {
				const close = record.indexOf('"', at);
				if (close < 0) {
					// Unterminated quote: the field extends to the end of the record.
					fields.push(field + record.slice(at, end));
					return fields;
				}
				field += record.slice(at, close);
				at = close + 1;
				if (record[at] !== '"') break;
				field += '"';
				at++;
			}
		}
		const stop = record.indexOf(delimiter, at);
		if (stop < 0 || stop >= end) {
			fields.push(field + record.slice(at, end));
			return fields;
		}
		fields.push(field + record.slice(at, stop));
		at = stop + 1;
	}
}

/** Returns column names from the first record, replacing empty and duplicate names. */
export function columnNames(fields: readonly string[]): string[] {
	const names: string[] = [];
	const used = new Set<string>();
	for (const [i, field] of fields.entries()) {
		const wanted = field.trim() === '' ? `column ${i + 1}` : field.trim();
		let name = wanted;
		for (let n = 2; used.has(name); n++) name = `${wanted} ${n}`;
		used.add(name);
		names.push(name);
	}
	return names;
}

/** Converts a record to a row. Missing fields become null, and extra fields get generated names. */
export function rowOfFields(names: readonly string[], fields: readonly string[]): Record<string, unknown> {
	const row: Record<string, unknown> = {};
	const set = (name: string, value: unknown) =>
		Object.defineProperty(row, name, { value, enumerable: true, configurable: true, writable: true });
	for (const [i, name] of names.entries()) set(name, fields[i] ?? null);
	for (let i = names.length; i < fields.length; i++) set(`column ${i + 1}`, fields[i]);
	return row;
}
