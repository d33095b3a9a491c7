type Row = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null;

/**
 * Returns the value of a column in a row: the field with that name, otherwise the value reached by its dot-separated
 * path through objects and lists ("reward_model.ground_truth", "messages.0.content"); undefined if there is none. The
 * trainer uses the same rule (presets.py).
 */
export function columnCell(row: Row, column: string): unknown {
	if (Object.hasOwn(row, column)) return row[column];
	let value: unknown = row;
	for (const name of column.split('.')) {
		if (!isObject(value) || !Object.hasOwn(value, name) || (Array.isArray(value) && name === 'length'))
			return undefined;
		value = value[name];
	}
	return value;
}

/** Roles of prompt messages; the answer is the assistant's. */
const asking: readonly unknown[] = ['system', 'developer', 'user'];

/**
 * Joins a prompt of messages into one text: the system and user messages, separated by a blank line; other values are
 * returned unchanged. A list with other roles has no such text: it is a conversation, not a prompt.
 */
export function promptOfMessages(value: unknown): unknown {
	if (!Array.isArray(value) || value.length === 0) return value;
	const said: string[] = [];
	for (const message of value) {
		if (!isObject(message) || !asking.includes(message.role) || typeof message.content !== 'string') return value;
		said.push(message.content);
	}
	return said.join('\n\n');
}
