import * as v from 'valibot';
import { type Keys, keysOf, valueSchema } from './recipeKey.ts';

type LiveEntries<E> = {
	[K in keyof E as E[K] extends { readonly live: true } ? K : never]: v.OptionalSchema<
		E[K] extends { readonly wrapped: infer S extends v.GenericSchema } ? S : E[K] & v.GenericSchema,
		undefined
	>;
};

/** Returns the keys that can be changed during a run. All of them are optional. */
export function liveEntries<E extends Keys>(schema: { readonly keys: E }): LiveEntries<E> {
	const found = Object.entries(keysOf(schema)).filter(([, declared]) => declared.live);
	const optional = found.map(([name, declared]) => [name, v.optional(valueSchema(declared) as never)]);
	return Object.fromEntries(optional) as LiveEntries<E>;
}
