import { parseBoundedJson } from '../../base/boundedJson.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Converts text to a value according to its JSON schema: a number where numbers are allowed, and so on. Text that does
 * not fit the schema is kept as text, and the tool decides how to handle it, as in TRL.
 * @param schema undefined if the argument is unknown
 */
export function argumentValue(text: string, schema: Schema | undefined): unknown {
	const choices = Array.isArray(schema?.enum) ? schema.enum : [];
	const chosen = choices.find((choice) => String(choice) === text);
	if (chosen !== undefined) return chosen;
	const types = typesOf(schema);
	const any = types.size === 0;
	if ((any || types.has('integer') || types.has('number')) && /^[+-]?\d{1,15}$/.test(text)) return Number(text);
	if ((any || types.has('number')) && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(text)) {
		const number = Number(text);
		if (Number.isFinite(number)) return number;
	}
	if ((any || types.has('boolean')) && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
	if ((any || types.has('null')) && /^(null|None)$/.test(text)) return null;
	const json = /^[[{"]/.test(text) ? jsonOf(text) : undefined;
	if (typeof json === 'string') return json;
	if (json !== undefined && (any || types.has('array') || types.has('object'))) return json;
	const quoted = /^'((?:[^'\\]|\\.)*)'$/s.exec(text);
	return quoted === null ? text : (quoted[1] as string).replace(/\\(.)/gs, '$1');
}

/** Parses JSON text; returns undefined if it is invalid or exceeds the decoding limits. */
export function jsonOf(text: string): unknown {
	try {
		return parseBoundedJson(text);
	} catch {
		return undefined;
	}
}

function typesOf(schema: Schema | undefined, depth = 0): Set<string> {
	const types = new Set<string>();
	if (schema === undefined || depth > 3) return types;
	for (const type of [schema.type].flat()) if (typeof type === 'string') types.add(type);
	if (schema.nullable === true) types.add('null');
	for (const one of Array.isArray(schema.anyOf) ? schema.anyOf : []) {
		for (const type of typesOf(one as Schema, depth + 1)) types.add(type);
	}
	return types;
}
