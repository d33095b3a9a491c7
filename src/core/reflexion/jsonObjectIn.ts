type Fields = Record<string, unknown>;

/** Maximum number of start positions to try. */
const maxTries = 60;
const longest = 400_000;

/**
 * Finds the first JSON object in text that satisfies a predicate. Candidates are the entire text, the contents of a
 * fence, and text between matching braces. Repairs JSON errors that are common in model output (line breaks in strings,
 * trailing commas). A tool call (`{"name", "arguments"}`) is replaced by its arguments. Takes linear time for each
 * start position.
 * @returns null if there is no such object
 */
export function jsonObjectIn(whole: string, takes: (value: Fields) => boolean): Fields | null {
	const text = whole.slice(0, longest);
	let at = text.indexOf('{');
	for (let tried = 0; at !== -1 && tried < maxTries; tried++) {
		const end = closing(text, at);
		const value = end === -1 ? undefined : parsed(text.slice(at, end + 1));
		const taken = value === undefined ? null : unwrapped(value, takes);
		if (taken !== null) return taken;
		// The object may be nested inside another one.
		at = text.indexOf('{', at + 1);
	}
	return null;
}

/** Returns the offset of the matching closing brace, or -1 if there is none. Ignores braces in strings. */
function closing(text: string, from: number): number {
	let depth = 0;
	let quoted = false;
	for (let i = from; i < text.length; i++) {
		const c = text[i];
		if (quoted) {
			if (c === '\\') i++;
			else if (c === '"') quoted = false;
		} else if (c === '"') quoted = true;
		else if (c === '{') depth++;
		else if (c === '}' && --depth === 0) return i;
	}
	return -1;
}

function parsed(text: string): Fields | undefined {
	for (const candidate of [() => text, () => mended(text)]) {
		try {
			const value: unknown = JSON.parse(candidate());
			return isFields(value) ? value : undefined;
		} catch {
			// Try the next candidate.
		}
	}
	return undefined;
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes control characters in strings, doubles stray backslashes, and removes trailing commas. */
function mended(text: string): string {
	const parts: string[] = [];
	let quoted = false;
	for (let i = 0; i < text.length; i++) {
		const c = text[i] as string;
		if (c === '"') quoted = !quoted;
		if (quoted && c === '\\') {
			const next = text[i + 1] ?? '';
			const known = /["\\/bfnrt]/.test(next) || /^u[\da-fA-F]{4}/.test(text.slice(i + 1, i + 6));
			parts.push(known ? c + next : '\\\\');
			if (known) i++;
		} else if (quoted && c < ' ') parts.push(escapes[c] ?? ' ');
		else if (!quoted && c === ',' && /^\s{0,200}[}\]]/.test(text.slice(i + 1, i + 202))) continue;
		else parts.push(c);
	}
	return parts.join('');
}

function unwrapped(value: Fields, takes: (value: Fields) => boolean, depth = 0): Fields | null {
	if (takes(value)) return value;
	if (depth > 2) return null;
	for (const name of ['arguments', 'parameters', 'input', 'function']) {
		const inner = Object.hasOwn(value, name) ? value[name] : undefined;
		const fields = typeof inner === 'string' && inner.trimStart().startsWith('{') ? parsed(inner) : inner;
		const taken = isFields(fields) ? unwrapped(fields, takes, depth + 1) : null;
		if (taken !== null) return taken;
	}
	return null;
}

const isFields = (value: unknown): value is Fields =>
	typeof value === 'object' && value !== null && !Array.isArray(value);
