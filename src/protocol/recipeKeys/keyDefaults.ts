import { type DefaultFacts, type Keys, keysOf, type SameAs, valueSchema } from './recipeKey.ts';
import type { ResolvedValue } from './resolvedKeys.ts';

type Constant<D> = D extends SameAs | ((...args: never[]) => unknown) | null ? never : D;
/** Keys whose defaults are constants. */
export type Defaults<E> = {
	readonly [K in keyof E as E[K] extends { readonly facts: DefaultFacts<infer D> }
		? [Constant<D>] extends [never]
			? never
			: K
		: never]: E[K] extends { readonly wrapped: infer S } ? ResolvedValue<S> : never;
};

/** Returns whether a default is a constant value, as opposed to a rule. */
export const isConstant = (value: unknown): boolean =>
	value !== undefined &&
	typeof value !== 'function' &&
	!(typeof value === 'object' && value !== null && 'same' in value);

/** Returns all constant defaults, including those of nested objects that are present by default. */
export function defaultsOf<E extends Keys>(schema: { readonly keys: E }): Defaults<E> {
	const found: Record<string, unknown> = {};
	for (const [name, declared] of Object.entries(keysOf(schema))) {
		const value = declared.facts?.default;
		if (value === null || !isConstant(value)) continue;
		const { keys } = valueSchema(declared);
		found[name] =
			keys === undefined ? value : { ...defaultsOf({ keys: keys as unknown as Keys }), ...(value as object) };
	}
	return found as Defaults<E>;
}
