import type { Expression } from './expression.ts';
import type { Rational } from './rational.ts';
import type { Unit } from './units.ts';

/** A number or an expression, with its percent sign, unit, and other annotations. */
export interface Scalar {
	readonly kind: 'scalar';
	readonly expression: Expression;
	/** Exact value if the expression is a rational number. */
	readonly exact: Rational | null;
	/** Number of significant digits if written with a decimal point, or null if the number is exact. */
	readonly digits: number | null;
	readonly percent: boolean;
	/** Whether the value is written with `\approx` and without an exact value. */
	readonly approximate: boolean;
	readonly unit: Unit | null;
	/** Source text, for literal comparison. */
	readonly source: string;
}

export interface Infinite {
	readonly kind: 'infinite';
	readonly sign: 1 | -1;
}

/**
 * A tuple or, with two items, possibly an interval, because both use the same notation: `(a, b)`, `[a, b)`, `⟨a, b⟩`.
 */
export interface Sequence {
	readonly kind: 'sequence';
	readonly open: '(' | '[';
	readonly close: ')' | ']';
	readonly items: readonly Answer[];
}

/** A set in braces or several answers, in any order. Empty if there is no solution. */
export interface AnswerList {
	readonly kind: 'list';
	readonly items: readonly Answer[];
	/** `bare` if the parts are not in brackets, so that named values can be matched with them in order. */
	readonly written: 'braces' | 'bare';
	/** Name whose values are listed, as in `x = 1, 2`. */
	readonly name?: string;
}

export interface Matrix {
	readonly kind: 'matrix';
	readonly rows: readonly (readonly Answer[])[];
}

export type Comparison = '=' | '<' | '>' | '≤' | '≥' | '≠';

/** An equation or inequality other than a name with a value. */
export interface Relation {
	readonly kind: 'relation';
	readonly sides: readonly Expression[];
	readonly comparisons: readonly Comparison[];
}

/** `x = 5`, `f(x) = 2x`, `(p, q) = (3, 2)`. */
export interface Named {
	readonly kind: 'named';
	readonly name: string;
	readonly value: Answer;
}

/** A set of real numbers that consists of intervals and points, and the name of its variable if it has one. */
export interface Region {
	readonly kind: 'region';
	readonly parts: readonly RegionPart[];
	readonly variable: string | null;
}

export interface Endpoint {
	/** Value of the endpoint, or null if infinite. */
	readonly value: Scalar | null;
	readonly closed: boolean;
}

export interface RegionPart {
	readonly low: Endpoint;
	readonly high: Endpoint;
}

/** Digits in an explicit base, such as `1011_2`. */
export interface BasedNumber {
	readonly kind: 'based';
	readonly digits: string;
	readonly base: number;
}

/** `7:32`. */
export interface Ratio {
	readonly kind: 'ratio';
	readonly parts: readonly Scalar[];
	readonly clock: string | null;
}

/** A multiple-choice letter and the text that follows it. */
export interface Choice {
	readonly kind: 'choice';
	readonly letter: string;
	readonly rest: string | null;
}

/** A congruence, `a \equiv b \pmod m`. */
export interface Congruence {
	readonly kind: 'congruence';
	readonly left: Expression;
	readonly right: Rational;
	readonly modulus: Rational;
}

/** Words, which are compared literally. */
export interface Words {
	readonly kind: 'words';
	readonly words: string;
}

export type Answer =
	| Scalar
	| Infinite
	| Sequence
	| AnswerList
	| Matrix
	| Relation
	| Named
	| Region
	| BasedNumber
	| Ratio
	| Choice
	| Congruence
	| Words;

/** Parses part of an answer. Inside brackets, a comma always separates items. */
export type ParseAnswer = (text: string, inBrackets?: boolean) => Answer | null;
