import { type DefaultFacts, type Keys, keysOf, type SameAs, valueSchema } from './recipeKey.ts';
import type { ResolvedValue } from './resolvedKeys.ts';

type Constant<D> = D extends SameAs | ((...args: never[]) => unknown) | null ? never : D;
/** The defaults that are constants. */
export type Defaults<E> = {
	readonly [K in keyof E as E[K] extends { readonly facts: DefaultFacts<infer D> }
		? [Constant<D>] extends [never]
			? never
			: K
		: never]: E[K] extends { readonly wrapped: infer S } ? ResolvedValue<S> : never;
};

/** Whether a default is a value and not a rule. */
export const isConstant = (value: unknown): boolean =>
	value !== undefined &&
	typeof value !== 'function' &&
	!(typeof value === 'object' && value !== null && 'same' in value);

/** Defaults that are constants; of an object that is there by default also its own. */
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
