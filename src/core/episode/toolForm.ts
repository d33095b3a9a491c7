import type { ToolSchema } from '../../protocol/environmentHost.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Input type of an argument. `json` is used for lists, objects, and values of several types. */
export type FieldKind = 'text' | 'integer' | 'number' | 'boolean' | 'choice' | 'json';

export interface FormField {
	readonly name: string;
	readonly kind: FieldKind;
	/** Description from the schema; empty if there is none. */
	readonly description: string;
	/** Type for display, such as "list of integer" or "string or null". */
	readonly type: string;
	readonly required: boolean;
	readonly nullable: boolean;
	/** Allowed values, if there is a fixed list. */
	readonly choices: readonly unknown[];
	/** Type of JSON value accepted at the top level. */
	readonly container: 'array' | 'object' | null;
	readonly initial: FieldInput;
}

/** Input for an argument. */
export interface FieldInput {
	readonly given: 'value' | 'null' | 'omitted';
	/** Text of the value; for a choice, its position in the list; for a boolean, `true` or `false`. */
	readonly text: string;
}

export type FormInputs = Readonly<Record<string, FieldInput>>;

/** Returns the form fields for a tool's arguments, in parameter order. */
export function formFields(schema: ToolSchema): FormField[] {
	const { properties, required = [] } = schema.parameters;
	return Object.entries(properties).map(([name, property]) => fieldOf(name, property, required.includes(name)));
}

function fieldOf(name: string, property: Schema, required: boolean): FormField {
	const { schema, nullable } = withoutNull(property);
	const choices = choicesOf(schema);
	const kind = choices.length > 0 ? 'choice' : kindOf(schema.type);
	const fallback = property.default;
	const value = fallback === undefined ? initialValue(kind) : fallback;
	const initial: FieldInput = !required
		? { given: 'omitted', text: textOf(kind, value, choices) }
		: { given: value === null && nullable ? 'null' : 'value', text: textOf(kind, value, choices) };
	return {
		name,
		kind,
		description: typeof property.description === 'string' ? property.description : '',
		type: `${typeText(schema)}${nullable ? ' or null' : ''}`,
		required,
		nullable,
		choices,
		container: schema.type === 'array' || schema.type === 'object' ? schema.type : null,
		initial,
	};
}

/**
 * Separates "or null" from a schema. Null is expressed as `nullable` (transformers), as a type in a list, or as an
 * alternative.
 */
function withoutNull(property: Schema): { readonly schema: Schema; readonly nullable: boolean } {
	const { nullable, type, anyOf, oneOf } = property;
	if (Array.isArray(type) && type.includes('null')) {
		const rest = type.filter((one) => one !== 'null');
		return { schema: { ...property, type: rest.length === 1 ? rest[0] : rest }, nullable: true };
	}
	const several: unknown = anyOf ?? oneOf;
	if (Array.isArray(several)) {
		const rest = several.filter((one) => (one as Schema | null)?.type !== 'null') as Schema[];
		if (rest.length === 1 && rest.length < several.length) return { schema: rest[0] as Schema, nullable: true };
		return { schema: property, nullable: nullable === true || rest.length < several.length };
	}
	return { schema: property, nullable: nullable === true };
}

function choicesOf(schema: Schema): readonly unknown[] {
	if ('const' in schema) return [schema.const];
	const { enum: choices } = schema;
	return Array.isArray(choices) ? choices.filter((choice) => choice !== null) : [];
}

function kindOf(type: unknown): FieldKind {
	switch (type) {
		case 'string':
			return 'text';
		case 'integer':
		case 'number':
		case 'boolean':
			return type;
		default:
			return 'json';
	}
}

function initialValue(kind: FieldKind): unknown {
	return kind === 'boolean' ? false : undefined;
}

function typeText(schema: Schema, depth = 0): string {
	const { type, items, anyOf, oneOf } = schema;
	if (choicesOf(schema).length > 0) return 'choice';
	if (type === 'array') return items && depth < 3 ? `list of ${typeText(items as Schema, depth + 1)}` : 'list';
	if (typeof type === 'string') return type;
	if (Array.isArray(type)) return type.join(' or ');
	const several: unknown = anyOf ?? oneOf;
	if (Array.isArray(several) && depth < 3) {
		return several.map((one) => typeText((one ?? {}) as Schema, depth + 1)).join(' or ');
	}
	return 'any';
}

function textOf(kind: FieldKind, value: unknown, choices: readonly unknown[]): string {
	if (kind === 'choice') {
		const wanted = JSON.stringify(value);
		return String(
			Math.max(
				0,
				choices.findIndex((choice) => JSON.stringify(choice) === wanted),
			),
		);
	}
	if (value === undefined || value === null) return '';
	if (kind !== 'json' && typeof value !== 'object') return String(value);
	return JSON.stringify(value);
}

export type FormArguments =
	| { readonly ok: true; readonly arguments: Record<string, unknown> }
	| { readonly ok: false; readonly faults: Readonly<Record<string, string>> };

/** Returns the entered arguments, or the error in each field. Missing inputs take their initial values. */
export function formArguments(fields: readonly FormField[], inputs: FormInputs): FormArguments {
	const values: [string, unknown][] = [];
	const faults: [string, string][] = [];
	for (const field of fields) {
		const input = (Object.hasOwn(inputs, field.name) ? inputs[field.name] : undefined) ?? field.initial;
		if (input.given === 'omitted') continue;
		const read = input.given === 'null' ? { value: null } : readValue(field, input.text);
		if ('fault' in read) faults.push([field.name, read.fault]);
		else values.push([field.name, read.value]);
	}
	// Object.fromEntries also creates arguments with names such as `__proto__`.
	if (faults.length > 0) return { ok: false, faults: Object.fromEntries(faults) };
	return { ok: true, arguments: Object.fromEntries(values) };
}

type Read = { readonly value: unknown } | { readonly fault: string };

function readValue({ kind, choices, container }: FormField, text: string): Read {
	switch (kind) {
		case 'text':
			return { value: text };
		case 'boolean':
			return { value: text === 'true' };
		case 'choice':
			return { value: choices[Number(text)] };
		case 'integer': {
			const written = text.trim();
			const value = Number(written);
			if (!/^[+-]?\d+$/.test(written)) return { fault: 'Enter an integer.' };
			return Number.isSafeInteger(value) ? { value } : { fault: 'Enter an integer of at most 15 digits.' };
		}
		case 'number': {
			const value = text.trim() === '' ? Number.NaN : Number(text);
			return Number.isFinite(value) ? { value } : { fault: 'Enter a number.' };
		}
		case 'json':
			return readJson(text, container);
	}
}

function readJson(text: string, container: FormField['container']): Read {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (error) {
		return { fault: text.trim() === '' ? 'Enter JSON.' : `Invalid JSON: ${(error as Error).message}` };
	}
	if (container === 'array' && !Array.isArray(value)) return { fault: 'Enter a JSON list: [ … ]' };
	const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
	if (container === 'object' && !isObject) return { fault: 'Enter a JSON object: { … }' };
	return { value };
}

/**
 * Returns inputs that produce these arguments, or null if the form cannot express them, for example because an argument
 * is unknown.
 */
export function formInputs(fields: readonly FormField[], given: unknown): FormInputs | null {
	if (typeof given !== 'object' || given === null || Array.isArray(given)) return null;
	const values = given as Readonly<Record<string, unknown>>;
	const inputs = Object.fromEntries(
		fields.map((field): [string, FieldInput] => {
			if (!Object.hasOwn(values, field.name)) return [field.name, { given: 'omitted', text: field.initial.text }];
			const value = values[field.name];
			if (value === null && field.nullable) return [field.name, { given: 'null', text: field.initial.text }];
			return [field.name, { given: 'value', text: textOf(field.kind, value, field.choices) }];
		}),
	);
	const read = formArguments(fields, inputs);
	const wanted = JSON.stringify(sorted(values));
	return read.ok && JSON.stringify(sorted(read.arguments)) === wanted ? inputs : null;
}

function sorted(values: Readonly<Record<string, unknown>>): [string, unknown][] {
	return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
}
