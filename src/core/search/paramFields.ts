import * as v from 'valibot';
import { type AnyStrategy, strategyParams } from './strategies.ts';

/** One parameter of a strategy, as shown in a form. */
export interface ParamField {
	readonly name: string;
	readonly description: string;
	/** Default; undefined if the parameter has none. */
	readonly standard: unknown;
	/** Values to choose from; null for other types. */
	readonly options: readonly string[] | null;
}

/** Returns the parameters of a strategy in declaration order. */
export function paramFields(strategy: AnyStrategy): ParamField[] {
	const entries = (strategy.params as { readonly entries?: Record<string, v.GenericSchema> }).entries ?? {};
	const standard = strategyParams(strategy, {}) as Record<string, unknown>;
	return Object.entries(entries).map(([name, schema]) => ({
		name,
		description: within(schema, (one) => v.getDescription(one)) ?? '',
		standard: standard[name],
		options: within(schema, (one) => (one as { readonly options?: readonly string[] }).options) ?? null,
	}));
}

/**
 * Applies a function to a schema and the schemas that it wraps, such as the one inside a default, and returns the first
 * result.
 */
function within<T>(schema: v.GenericSchema, read: (schema: v.GenericSchema) => T | undefined): T | undefined {
	const { wrapped, pipe } = schema as { readonly wrapped?: v.GenericSchema; readonly pipe?: readonly unknown[] };
	const own = read(schema);
	if (own !== undefined) return own;
	if (wrapped !== undefined) return within(wrapped, read);
	const [first] = pipe ?? [];
	return first === undefined || first === schema ? undefined : read(first as v.GenericSchema);
}

/** Parses input for a parameter as JSON or, if that is invalid, as text. */
export function typedValue(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

/** Formats a parameter's value for editing. */
export const textOfValue = (value: unknown): string =>
	value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
