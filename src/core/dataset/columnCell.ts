type Row = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null;

/**
 * Returns the value of a column in a row: the field with that exact name; otherwise, the value at its dot-separated
 * path through objects and lists ("reward_model.ground_truth", "messages.0.content"). Returns undefined if neither
 * exists. The trainer follows the same rule (presets.py).
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

/** Roles allowed in a prompt. The assistant's role is excluded because the assistant's message is the answer. */
const asking: readonly unknown[] = ['system', 'developer', 'user'];

/**
 * Joins the system and user messages of a chat prompt into a single string, separated by blank lines. Other values are
 * returned unchanged, including lists with other roles, which are conversations rather than prompts.
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
