import {
	type Group,
	type KeyContext,
	type KeySchema,
	type Keys,
	keysOf,
	valueSchema,
} from '../../protocol/recipeKeys/recipeKey.ts';
import type { Resolved } from '../../protocol/recipeKeys/resolvedKeys.ts';

type Values = Readonly<Record<string, unknown>>;

function resolveValue(schema: KeySchema, value: unknown, context: KeyContext): unknown {
	if (value === null) return null;
	if (schema.keys !== undefined) return resolveEntries(schema.keys, value as Values, context);
	if (schema.item?.keys !== undefined) {
		const { item } = schema;
		return (value as readonly unknown[]).map((one) => resolveValue(item, one, context));
	}
	return schema.place === undefined ? value : context.places[schema.place](value as string);
}

function resolveEntries(keys: Readonly<Record<string, KeySchema>>, given: Values, context: KeyContext): Values {
	const resolved: Record<string, unknown> = {};
	for (const [name, declared] of Object.entries(keys)) {
		const { derive, facts } = declared;
		let value = given[name];
		if (derive !== undefined) value = derive(context, { ...given, ...resolved });
		else if (value === undefined) value = defaultOf(facts?.default, { ...given, ...resolved }, context);
		if (value !== undefined) resolved[name] = resolveValue(valueSchema(declared), value, context);
	}
	return resolved;
}

/**
 * Returns a key's default value.
 * @param group the object that contains the key: given values, plus the keys resolved so far
 */
function defaultOf(fallback: unknown, group: Values, context: KeyContext): unknown {
	if (typeof fallback === 'function') return fallback(context, group);
	if (typeof fallback === 'object' && fallback !== null && 'same' in fallback) return group[String(fallback.same)];
	return fallback;
}

/** Resolves an object of keys, filling in all defaults and converting every path to the form that the run uses. */
export function resolveKeys<E extends Keys>(
	schema: Pick<Group<E>, 'keys'>,
	given: object | undefined,
	context: KeyContext,
): Resolved<E> {
	return resolveEntries(keysOf(schema), { ...given }, context) as Resolved<E>;
}
