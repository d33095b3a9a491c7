import * as v from 'valibot';

/*
 * A key of a recipe is declared once: its values and meaning as a schema, and beside it the facts below. From the
 * declaration follow the schema that decodes recipes, the one of resolved recipes (resolvedKeys.ts), the resolution of defaults
 * (src/core/recipe/resolveKeys.ts), what an engine lacks (src/core/recipe/checkEngine.ts), what can be changed while a run is
 * running (liveKeys.ts), media/schemas/recipe.schema.json and the tables of docs/recipe.md.
 */

/** What defaults that are not constants are computed from. */
export interface KeyContext {
	readonly embedded: boolean;
	/** `max_completion_length` of a stage that does not say. */
	readonly completionLength: number;
	/** Turns a path of each kind into the one that the run uses. */
	readonly places: Readonly<Record<PlaceKind, (path: string) => string>>;
}

/** `file`: always a file or folder; `data` and `model`: or a hub id, on the engines that read the hub. */
export type PlaceKind = 'file' | 'data' | 'model';

export type Engine = 'embedded' | 'pytorch';

/** A value that an engine lacks. `when` and `say` get the value and the object that it is in. */
export interface Lack {
	/** Which values are lacking; default: all but `false`. */
	readonly when?: (value: unknown, group: Readonly<Record<string, unknown>>) => boolean;
	/** One sentence that says so and what to do. */
	readonly say: string | ((value: unknown) => string);
}

export interface KeyFacts {
	/** What configurations of other trainers call it (TRL, verl, OpenRLHF, Hugging Face's Trainer): for suggestions. */
	readonly alsoCalled?: readonly string[];
	readonly lacking?: Readonly<Partial<Record<Engine, Lack>>>;
}

export interface DefaultFacts<D> extends KeyFacts {
	/**
	 * What it is when it is left out: a value, `null` (none, or decided while the run is going), the value of another key, or
	 * a function of the context and of the keys before it in its object.
	 */
	readonly default: D;
	/** The default in words, where the value does not tell. */
	readonly or?: string;
	/** It was added after runs had been recorded, whose recipes lack it. */
	readonly late?: true;
	/** It may be missing in a resolved recipe. */
	readonly maybe?: true;
}

/** A default that is the value of another key of the same object. */
export interface SameAs {
	readonly same: string;
}
export const sameAs = (key: string): SameAs => ({ same: key });

// biome-ignore lint/suspicious/noExplicitAny: keys before it, whose types are not known to the declaration
type Computed<R> = (context: KeyContext, group: any) => R;

export type Key<S extends v.GenericSchema, D> = v.OptionalSchema<S, undefined> & { readonly facts: DefaultFacts<D> };

type Allowed<S extends v.GenericSchema> =
	| v.InferInput<S>
	| null
	| SameAs
	| Computed<v.InferInput<S> | null | undefined>;

/** A key that may be left out. @param fallback see {@link DefaultFacts.default} */
export function key<S extends v.GenericSchema, const D extends Allowed<S>>(
	schema: S,
	fallback: D,
	facts: Omit<DefaultFacts<D>, 'default'> = {},
): Key<S, D> {
	return Object.assign(v.optional(schema), { facts: { ...facts, default: fallback } });
}

/** A key that may be left out, and is then missing in the resolved recipe as well. */
export function bareKey<S extends v.GenericSchema>(schema: S, facts: KeyFacts & { readonly or?: string } = {}) {
	return key(schema, (): undefined => undefined, { ...facts, maybe: true });
}

/** A key that has to be given, or whose default is filled in when a recipe is decoded. */
export function withFacts<S extends v.GenericSchema>(schema: S, facts: KeyFacts): S {
	return { ...schema, facts };
}

/** A key of the resolved recipe alone, made of the others. */
export type DerivedKey<S> = S & { readonly derive: Computed<unknown> };
export function derivedKey<S extends v.GenericSchema>(schema: S, derive: Computed<v.InferOutput<S>>): DerivedKey<S> {
	return { ...schema, derive };
}

/** A key that may be changed while a run is running. */
export type LiveKey<S> = S & { readonly live: true };
export function live<S extends v.GenericSchema>(schema: S): LiveKey<S> {
	return { ...schema, live: true };
}

/** A path. */
export function place<S extends v.GenericSchema>(kind: PlaceKind, schema: S): S {
	return { ...schema, place: kind };
}

export type Keys = Readonly<Record<string, v.GenericSchema>>;

/** The entries that are written in a recipe. */
type Written<E> = { [K in keyof E as E[K] extends { readonly derive: unknown } ? never : K]: E[K] };
export type Group<E extends Keys> = v.StrictObjectSchema<Written<E>, undefined> & { readonly keys: E };

/** An object of keys. */
export function group<const E extends Keys>(keys: E): Group<E> {
	const written = Object.fromEntries(Object.entries(keys).filter(([, schema]) => !('derive' in schema)));
	return Object.assign(v.strictObject(written), { keys }) as unknown as Group<E>;
}

/** A stage: its type with a sentence about it, and its keys. */
export function stageOf<const T extends string, const E extends Keys>(
	type: T,
	words: string,
	keys: E,
	lacking: KeyFacts['lacking'] = {},
) {
	const literal = v.pipe(v.literal(type), v.description(words));
	return group({ type: withFacts(literal, { lacking }), ...keys });
}

/** A schema as far as declarations are read. */
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

/** The keys of an object or of a stage as declarations. */
export const keysOf = (schema: { readonly keys: Keys }): Readonly<Record<string, KeySchema>> =>
	schema.keys as unknown as Readonly<Record<string, KeySchema>>;

/** The meaning of a key in words, without a full stop. */
export const meaningOf = (schema: KeySchema): string =>
	(v.getDescription(valueSchema(schema) as unknown as v.GenericSchema) ?? '').replace(/\.$/, '');

/** The schema below what makes a key optional. */
export const valueSchema = (schema: KeySchema): KeySchema => schema.wrapped ?? schema;
