/** An exact fraction of safe integers with a positive denominator. */
interface Fraction {
	readonly top: number;
	readonly bottom: number;
}

export interface Evaluation {
	/** Value of the expression, or null if it is not an integer. */
	readonly value: number | null;
	/** All numbers in the expression, in order. */
	readonly numbers: readonly number[];
}

const maxLength = 200;

function gcd(a: number, b: number): number {
	let [x, y] = [Math.abs(a), Math.abs(b)];
	while (y !== 0) [x, y] = [y, x % y];
	return x;
}

function fraction(top: number, bottom: number): Fraction | null {
	if (bottom === 0 || !Number.isSafeInteger(top) || !Number.isSafeInteger(bottom)) return null;
	const divisor = gcd(top, bottom) * (bottom < 0 ? -1 : 1);
	return { top: top / divisor, bottom: bottom / divisor };
}

function combine(operator: string, a: Fraction, b: Fraction): Fraction | null {
	switch (operator) {
		case '+':
			return fraction(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom);
		case '-':
			return fraction(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom);
		case '*':
			return fraction(a.top * b.top, a.bottom * b.bottom);
		default:
			return fraction(a.top * b.bottom, a.bottom * b.top);
	}
}

/**
 * Evaluates an integer expression with `+ - * /` and parentheses in exact rational arithmetic. Returns null if it is
 * malformed, divides by zero, exceeds the safe integer range, or is longer than 200 characters.
 */
export function evaluateExpression(text: string): Evaluation | null {
	if (text.length > maxLength) return null;
	const tokens = text.replace(/\s+/g, '').match(/\d+|[-+*/()]|./gs) ?? [];
	const numbers: number[] = [];
	let at = 0;
	const atom = (): Fraction | null => {
		const token = tokens[at++];
		if (token === '(') {
			const inner = sum();
			return tokens[at++] === ')' ? inner : null;
		}
		if (token === undefined || !/^\d{1,15}$/.test(token)) return null;
		numbers.push(Number(token));
		return fraction(Number(token), 1);
	};
	const chain = (next: () => Fraction | null, operators: string): Fraction | null => {
		let left = next();
		while (left !== null && at < tokens.length && operators.includes(tokens[at] as string)) {
			const operator = tokens[at++] as string;
			const right = next();
			left = right === null ? null : combine(operator, left, right);
		}
		return left;
	};
	const product = (): Fraction | null => chain(atom, '*/');
	const sum = (): Fraction | null => chain(product, '+-');
	const result = sum();
	if (result === null || at !== tokens.length) return null;
	return { value: result.bottom === 1 ? result.top : null, numbers };
}
