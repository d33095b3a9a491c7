import type { Expression } from './expression.ts';
import type { Rational } from './rational.ts';
import type { Unit } from './units.ts';

/** A number or an expression, with what is written around it. */
export interface Scalar {
	readonly kind: 'scalar';
	readonly expression: Expression;
	/** Set when the expression is a rational number. */
	readonly exact: Rational | null;
	/** Significant digits of a number written with a decimal point; null: exact. */
	readonly digits: number | null;
	readonly percent: boolean;
	/** Written with `\approx` and without the exact value. */
	readonly approximate: boolean;
	readonly unit: Unit | null;
	/** What was read, for literal comparison. */
	readonly source: string;
}

export interface Infinite {
	readonly kind: 'infinite';
	readonly sign: 1 | -1;
}

/** `(a, b)`, `[a, b)`, `⟨a, b⟩`: a tuple, or with two items an interval; they are the same signs. */
export interface Sequence {
	readonly kind: 'sequence';
	readonly open: '(' | '[';
	readonly close: ')' | ']';
	readonly items: readonly Answer[];
}

/** A set in braces, or several answers: the order does not matter. Empty: no solution. */
export interface AnswerList {
	readonly kind: 'list';
	readonly items: readonly Answer[];
	/** `in order` when the parts stand without brackets, so that named values can be matched with them. */
	readonly written: 'braces' | 'bare';
	/** Of which these are values: `x = 1, 2`. */
	readonly name?: string;
}

export interface Matrix {
	readonly kind: 'matrix';
	readonly rows: readonly (readonly Answer[])[];
}

export type Comparison = '=' | '<' | '>' | '≤' | '≥' | '≠';

/** An equation or inequality that is more than a name with a value. */
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

/** A set of real numbers: parts are intervals and points, and the variable that runs through it where one is named. */
export interface Region {
	readonly kind: 'region';
	readonly parts: readonly RegionPart[];
	readonly variable: string | null;
}

export interface Endpoint {
	/** null: infinite. */
	readonly value: Scalar | null;
	readonly closed: boolean;
}

export interface RegionPart {
	readonly low: Endpoint;
	readonly high: Endpoint;
}

/** Digits in a stated base: `1011_2`. */
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

/** One of the letters of a multiple-choice question, with the text that follows it. */
export interface Choice {
	readonly kind: 'choice';
	readonly letter: string;
	readonly rest: string | null;
}

/** `a \equiv b \pmod m`. */
export interface Congruence {
	readonly kind: 'congruence';
	readonly left: Expression;
	readonly right: Rational;
	readonly modulus: Rational;
}

/** Words, compared literally. */
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

/** Reads a part of an answer; in brackets a comma always divides. */
export type ParseAnswer = (text: string, inBrackets?: boolean) => Answer | null;
