import * as v from 'valibot';

/*
 * Each recipe key is declared once: a schema with its values and description, plus the facts below. Everything else is
 * derived from that declaration: the schemas for decoding recipes and for resolved recipes (resolvedKeys.ts), default
 * resolution (src/core/recipe/resolveKeys.ts), unsupported values per engine (src/core/recipe/checkEngine.ts), keys
 * that can change during a run (liveKeys.ts), media/schemas/recipe.schema.json and the tables in docs/recipe.md.
 */

/** Inputs for computed defaults. */
export interface KeyContext {
	readonly embedded: boolean;
	/** `max_completion_length` for stages that do not set it. */
	readonly completionLength: number;
	/** Functions, one per kind of path, that resolve a path to the one used by the run. */
	readonly places: Readonly<Record<PlaceKind, (path: string) => string>>;
}

/**
 * `file`: always a file or folder. `data` and `model`: can also be a hub id, on engines that read the hub. `package`: a
 * name, or a folder if it contains a separator.
 */
export type PlaceKind = 'file' | 'data' | 'model' | 'package';

export type Engine = 'embedded' | 'pytorch';

/**
 * A value that an engine does not support. Both functions are called with the value and its parent object.
 */
export interface Lack {
	/** Which values are unsupported; default: all except `false`. */
	readonly when?: (value: unknown, group: Readonly<Record<string, unknown>>) => boolean;
	/** One sentence that states the problem and how to fix it. */
	readonly say: string | ((value: unknown, group: Readonly<Record<string, unknown>>) => string);
}

/**
 * Declares unsupported values by a function that returns the sentence for a value, or undefined if it is supported.
 * @param summary sentence for explanations of the key, which have no value
 */
export const lackOf = (
	find: (value: unknown, group: Readonly<Record<string, unknown>>) => string | undefined,
	summary: string,
): Lack => ({
	when: (value, group) => find(value, group) !== undefined,
	say: (value, group) => find(value, group) ?? summary,
});

export interface KeyFacts {
	/**
	 * Names of this key in other trainers' configurations (TRL, verl, OpenRLHF, Hugging Face's Trainer), for suggestions.
	 */
	readonly alsoCalled?: readonly string[];
	readonly lacking?: Readonly<Partial<Record<Engine, Lack>>>;
}

export interface DefaultFacts<D> extends KeyFacts {
	/**
	 * Value used when the key is omitted: a constant, `null` (none, or determined during the run), the value of another
	 * key, or a function of the context and the preceding keys in the same object.
	 */
	readonly default: D;
	/** Description of the default, if its value is not self-explanatory. */
	readonly or?: string;
	/** The key was introduced after runs had already been recorded, so the recipes of those runs lack it. */
	readonly late?: true;
	/** The key can be missing from a resolved recipe. */
	readonly maybe?: true;
}

/** A default taken from another key in the same object. */
export interface SameAs {
	readonly same: string;
}
export const sameAs = (key: string): SameAs => ({ same: key });

// biome-ignore lint/suspicious/noExplicitAny: the declaration does not know the types of preceding keys
type Computed<R> = (context: KeyContext, group: any) => R;

export type Key<S extends v.GenericSchema, D> = v.OptionalSchema<S, undefined> & { readonly facts: DefaultFacts<D> };

type Allowed<S extends v.GenericSchema> =
	| v.InferInput<S>
	| null
	| SameAs
	| Computed<v.InferInput<S> | null | undefined>;

/**
 * Declares an optional key.
 * @param fallback see {@link DefaultFacts.default}
 */
export function key<S extends v.GenericSchema, const D extends Allowed<S>>(
	schema: S,
	fallback: D,
	facts: Omit<DefaultFacts<D>, 'default'> = {},
): Key<S, D> {
	return Object.assign(v.optional(schema), { facts: { ...facts, default: fallback } });
}

/** Declares an optional key that has no default, so it can be missing from the resolved recipe too. */
export function bareKey<S extends v.GenericSchema>(schema: S, facts: KeyFacts & { readonly or?: string } = {}) {
	return key(schema, (): undefined => undefined, { ...facts, maybe: true });
}

/** Declares a required key, or one whose default is filled in during decoding. */
export function withFacts<S extends v.GenericSchema>(schema: S, facts: KeyFacts): S {
	return { ...schema, facts };
}

/** A key that exists only in the resolved recipe, computed from other keys. */
export type DerivedKey<S> = S & { readonly derive: Computed<unknown> };
export function derivedKey<S extends v.GenericSchema>(schema: S, derive: Computed<v.InferOutput<S>>): DerivedKey<S> {
	return { ...schema, derive };
}

/** A key that can be changed during a run. */
export type LiveKey<S> = S & { readonly live: true };
export function live<S extends v.GenericSchema>(schema: S): LiveKey<S> {
	return { ...schema, live: true };
}

/** Marks a schema as a path. */
export function place<S extends v.GenericSchema>(kind: PlaceKind, schema: S): S {
	return { ...schema, place: kind };
}

export type Keys = Readonly<Record<string, v.GenericSchema>>;

/** Entries that appear in recipes as written, without derived keys. */
type Written<E> = { [K in keyof E as E[K] extends { readonly derive: unknown } ? never : K]: E[K] };
export type Group<E extends Keys> = v.StrictObjectSchema<Written<E>, undefined> & { readonly keys: E };

/** Declares an object with keys. */
export function group<const E extends Keys>(keys: E): Group<E> {
	const written = Object.fromEntries(Object.entries(keys).filter(([, schema]) => !('derive' in schema)));
	return Object.assign(v.strictObject(written), { keys }) as unknown as Group<E>;
}

/** Declares a stage: its type with a one-sentence description, and its keys. */
export function stageOf<const T extends string, const E extends Keys>(
	type: T,
	words: string,
	keys: E,
	lacking: KeyFacts['lacking'] = {},
) {
	const literal = v.pipe(v.literal(type), v.description(words));
	return group({ type: withFacts(literal, { lacking }), ...keys });
}

/** The schema properties needed to read declarations. */
export interface KeySchema {
	readonly type: string;
	readonly wrapped?: KeySchema;
	readonly item?: KeySchema;
	readonly options?: readonly KeySchema[];
	readonly literal?: unknown;
	readonly entries?: Readonly<Record<string, KeySchema>>;
	readonly keys?: Readonly<Record<string, KeySchema>>;
	readonly facts?: KeyFacts & Partial<DefaultFacts<unknown>>;
	readonly place?: PlaceKind;
	readonly derive?: Computed<unknown>;
	readonly live?: true;
}

/** Returns the declared keys of an object or a stage. */
export const keysOf = (schema: { readonly keys: Keys }): Readonly<Record<string, KeySchema>> =>
	schema.keys as unknown as Readonly<Record<string, KeySchema>>;

/** Returns a key's description without the final period. */
export const meaningOf = (schema: KeySchema): string =>
	(v.getDescription(valueSchema(schema) as unknown as v.GenericSchema) ?? '').replace(/\.$/, '');

/** Returns the schema inside an optional wrapper. */
export const valueSchema = (schema: KeySchema): KeySchema => schema.wrapped ?? schema;
