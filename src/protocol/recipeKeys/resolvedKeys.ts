import * as v from 'valibot';
import { type DefaultFacts, type KeySchema, type Keys, keysOf, valueSchema } from './recipeKey.ts';

type Flat<T> = { [K in keyof T]: T[K] };
type ResultOf<D> = D extends (...args: never[]) => infer R ? R : D;

/** Type of a schema's value in a resolved recipe. */
export type ResolvedValue<S> = S extends { readonly keys: infer E }
	? Resolved<E>
	: S extends { readonly type: 'array'; readonly item: infer I }
		? ResolvedValue<I>[]
		: S extends v.GenericSchema
			? v.InferOutput<S>
			: never;

type ResolvedKey<K> = K extends { readonly wrapped: infer S; readonly facts: DefaultFacts<infer D> }
	? ResolvedValue<S> | Extract<ResultOf<D>, null | undefined>
	: ResolvedValue<K>;

type MissingKeys<E> = { [K in keyof E]: undefined extends ResolvedKey<E[K]> ? K : never }[keyof E];

/** An object with keys in a resolved recipe, with all defaults filled in. */
export type Resolved<E> = Flat<
	{ -readonly [K in Exclude<keyof E, MissingKeys<E>>]: ResolvedKey<E[K]> } & {
		-readonly [K in MissingKeys<E>]?: ResolvedKey<E[K]>;
	}
>;

function resolvedOf(schema: KeySchema): v.GenericSchema {
	if (schema.keys !== undefined) return resolvedSchema(schema.keys as unknown as Keys);
	if (schema.type === 'array' && schema.item?.keys !== undefined) return v.array(resolvedOf(schema.item));
	return schema as unknown as v.GenericSchema;
}

/** Returns the schema for an object with keys in a resolved recipe. */
export function resolvedSchema<E extends Keys>(keys: E): v.GenericSchema<unknown, Resolved<E>> {
	const entries = Object.entries(keysOf({ keys })).map(([name, schema]) => {
		const value = resolvedOf(valueSchema(schema));
		const { facts } = schema;
		if (facts?.maybe) return [name, v.optional(value)];
		const whole = facts?.default === null ? v.nullable(value) : value;
		return [name, facts?.late ? v.optional(whole, facts.default as never) : whole];
	});
	return v.strictObject(Object.fromEntries(entries)) as unknown as v.GenericSchema<unknown, Resolved<E>>;
}
