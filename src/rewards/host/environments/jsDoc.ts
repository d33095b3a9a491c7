/** The parts of a JSDoc comment that describe a tool. */
export interface JsDoc {
	readonly description: string;
	readonly parameters: ReadonlyMap<string, string>;
	readonly returns: string | null;
}

const tag = /^@(\w+)\s*(.*)$/;
const parameter = /^(?:\{[^}]*\}\s*)?\[?(\w+)(?:=[^\]]*)?\]?\s*(?:-\s*)?(.*)$/;

/**
 * Parses a JSDoc comment without its delimiters: text, then `@param NAME TEXT` and `@returns TEXT`. Tag text can
 * continue on the following lines.
 */
export function parseJsDoc(comment: string): JsDoc {
	const description: string[] = [];
	const tags: { readonly name: string; readonly text: string[] }[] = [];
	for (const raw of comment.split('\n')) {
		const line = raw.replace(/^\s*\*? ?/, '').trimEnd();
		const found = tag.exec(line.trim());
		if (found !== null) tags.push({ name: found[1] as string, text: [found[2] as string] });
		else if (tags.length > 0) tags.at(-1)?.text.push(line.trim());
		else description.push(line);
	}
	const parameters = new Map<string, string>();
	let returns: string | null = null;
	for (const { name, text } of tags) {
		const words = text.filter((part) => part !== '').join(' ');
		if (name === 'returns' || name === 'return') returns = words.replace(/^\{[^}]*\}\s*/, '').replace(/^-\s*/, '');
		const described = name === 'param' ? parameter.exec(words) : null;
		if (described !== null && described[2] !== '') parameters.set(described[1] as string, described[2] as string);
	}
	return { description: description.join('\n').trim(), parameters, returns: returns === '' ? null : returns };
}
