type Row = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null;

/**
 * What a row holds in a column: the field of that name; else what the names between dots lead to, through objects and lists
 * ("reward_model.ground_truth", "messages.0.content"); undefined: nothing. The trainer has the same rule (presets.py).
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

/** The roles whose messages ask; an assistant's answer. */
const asking: readonly unknown[] = ['system', 'developer', 'user'];

/**
 * A prompt of messages as one text: what system and user say, with a blank line between; other values as they are. A list
 * in which somebody else speaks has no such text: it is not a prompt but a conversation.
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
