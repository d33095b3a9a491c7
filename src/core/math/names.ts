/** Removes the index: `x_1` is a value of x. */
const withoutIndex = (name: string): string => name.replace(/_(?:\{[^{}]*\}|\w)$/, '');

/** Converts `f(x)` to `f()`, but only if the parentheses contain letters: `P(2)` and `P(3)` are different names. */
const withoutArgument = (name: string): string => name.replace(/(?<=.)\([a-zA-Z](?:,[a-zA-Z])*\)$/, '()');

/**
 * Returns whether two names on the left of an equals sign are equivalent: `f(x)` and `f(n)`, `x_1` and `x` (but not
 * `x_2`), `y` and `f(x)`.
 */
export function sameName(a: string, b: string): boolean {
	const [first, second] = [plain(a), plain(b)];
	if (first === second || withoutArgument(first) === withoutArgument(second)) return true;
	if (withoutIndex(first) === second || withoutIndex(second) === first) return true;
	return [first, second].includes('y') && [first, second].some((name) => /^[a-zA-Z]\(x\)$/.test(name));
}

const plain = (name: string): string => name.replace(/\s+/g, '').replace(/_\{(\w+)\}/g, '_$1');

/** Returns whether a name is an unknown. The values of an unknown, such as the roots x_1 and x_2, have no order. */
export const isUnknown = (name: string): boolean => /^[xtzwurknm]$/.test(withoutIndex(plain(name)));
