import type { ToolSchema } from '../../../protocol/environmentHost.ts';
import { nameOf } from '../rewardValue.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Returns why a call cannot be made with the given arguments, worded as the model sees it, or null. For missing and
 * unknown arguments, the text matches Python's TypeError.
 * @param owner name of the class
 */
export function argumentFault(owner: string, schema: ToolSchema, given: unknown): string | null {
	const { name, parameters } = schema;
	if (!isObject(given)) return `${name}() requires its arguments as an object, not ${what(given)}`;
	if (hasPrototypeKey(given, 0))
		return `The arguments of ${name} contain the key "__proto__", or are nested too deeply`;
	const unknown = Object.keys(given).find((key) => !Object.hasOwn(parameters.properties, key));
	if (unknown !== undefined) return `${owner}.${name}() got an unexpected keyword argument '${unknown}'`;
	const missing = (parameters.required ?? []).filter((key) => !Object.hasOwn(given, key));
	if (missing.length > 0) {
		const words = missing.length === 1 ? 'argument' : 'arguments';
		return `${owner}.${name}() missing ${missing.length} required positional ${words}: ${listed(missing)}`;
	}
	for (const [key, value] of Object.entries(given)) {
		const fault = valueFault(parameters.properties[key] as Schema, value, key);
		if (fault !== null) return fault;
	}
	return null;
}

/** Returns why a value does not match a schema, as in "number must be an integer, not null", or null if it matches. */
function valueFault(schema: Schema, value: unknown, path: string): string | null {
	const { anyOf, enum: choices, type, nullable } = schema;
	if (value === null && nullable === true) return null;
	if (Array.isArray(choices)) {
		if (choices.includes(value)) return null;
		return `${path} must be one of ${choices.map((one) => JSON.stringify(one)).join(', ')}, not ${what(value)}`;
	}
	if (Array.isArray(anyOf)) {
		const faults = anyOf.map((one) => valueFault(one as Schema, value, path));
		return faults.includes(null) ? null : (faults[0] ?? null);
	}
	if (type === undefined) return null;
	const types = (Array.isArray(type) ? type : [type]) as string[];
	if (!types.some((one) => fits(one, value))) {
		return `${path} must be ${types.map((one) => words[one] ?? one).join(' or ')}, not ${what(value)}`;
	}
	if (Array.isArray(value)) return listFault(schema, value, path);
	return isObject(value) ? entryFault(schema, value, path) : null;
}

function listFault({ items, prefixItems }: Schema, value: readonly unknown[], path: string): string | null {
	if (Array.isArray(prefixItems) && prefixItems.length !== value.length) {
		return `${path} must have ${prefixItems.length} elements, not ${value.length}`;
	}
	for (const [i, one] of value.entries()) {
		const schema = Array.isArray(prefixItems) ? prefixItems[i] : items;
		const fault = schema === undefined ? null : valueFault(schema as Schema, one, `${path}[${i}]`);
		if (fault !== null) return fault;
	}
	return null;
}

function entryFault({ additionalProperties }: Schema, value: object, path: string): string | null {
	if (!isObject(additionalProperties)) return null;
	for (const [key, one] of Object.entries(value)) {
		const fault = valueFault(additionalProperties as Schema, one, `${path}[${JSON.stringify(key)}]`);
		if (fault !== null) return fault;
	}
	return null;
}

const words: Readonly<Record<string, string>> = {
	integer: 'an integer',
	number: 'a number',
	string: 'a string',
	boolean: 'a boolean',
	null: 'null',
	array: 'a list',
	object: 'an object',
};

function fits(type: string, value: unknown): boolean {
	switch (type) {
		case 'integer':
			return Number.isInteger(value);
		case 'null':
			return value === null;
		case 'array':
			return Array.isArray(value);
		case 'object':
			return isObject(value);
		default:
			return typeof value === type;
	}
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function what(value: unknown): string {
	return typeof value === 'number' ? String(value) : nameOf(value);
}

const maxDepth = 64;

/**
 * Returns whether a value is nested too deeply or has a `__proto__` key, which could change all objects when merged.
 */
function hasPrototypeKey(value: unknown, depth: number): boolean {
	if (typeof value !== 'object' || value === null) return false;
	if (depth > maxDepth || Object.hasOwn(value, '__proto__')) return true;
	return Object.values(value).some((one) => hasPrototypeKey(one, depth + 1));
}

/** Lists names as Python does: 'a', 'b', and 'c'. */
function listed(names: readonly string[]): string {
	const quoted = names.map((name) => `'${name}'`);
	if (quoted.length < 3) return quoted.join(' and ');
	return `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`;
}
