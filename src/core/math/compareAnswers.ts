import { Random } from '../../base/random.ts';
import type {
	Answer,
	AnswerList,
	Choice,
	Endpoint,
	Matrix,
	Named,
	Ratio,
	Region,
	Relation,
	Scalar,
	Sequence,
} from './answer.ts';
import { expressionsEqual, isZero, randomPoint } from './compareExpressions.ts';
import * as C from './complexNumber.ts';
import { decimalStandsFor } from './decimalRule.ts';
import { type Budget, evaluate, type Value } from './evaluate.ts';
import { type Expression, freeSymbols } from './expression.ts';
import * as F from './fixedPoint.ts';
import { baseName } from './listAnswer.ts';
import * as Q from './rational.ts';
import { negated } from './readExpression.ts';
import { realValue } from './region.ts';
import { asRegion } from './regionAnswer.ts';
import { conversion } from './units.ts';
import { literalWords } from './words.ts';

/** Whether two answers are the same. Throws `TooMuchWork` when that would take more than the budget. */
export function answersAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	if (gold.kind === 'named' || answer.kind === 'named') return namedAgree(gold, answer, budget);
	if (gold.kind === 'choice' || answer.kind === 'choice') return choicesAgree(gold, answer, budget);
	if (gold.kind === 'words' || answer.kind === 'words') {
		return wordsOf(gold) !== null && wordsOf(gold) === wordsOf(answer);
	}
	if (gold.kind === 'scalar' && answer.kind === 'scalar') return scalarsAgree(gold, answer, budget);
	if (gold.kind === 'infinite' && answer.kind === 'infinite') return gold.sign === answer.sign;
	if (gold.kind === 'matrix' || answer.kind === 'matrix') return matricesAgree(gold, answer, budget);
	if (gold.kind === 'based' || answer.kind === 'based') return basedAgree(gold, answer);
	if (gold.kind === 'ratio' || answer.kind === 'ratio') return ratiosAgree(gold, answer, budget);
	if (gold.kind === 'congruence' || answer.kind === 'congruence') {
		if (gold.kind !== 'congruence' || answer.kind !== 'congruence' || !Q.equal(gold.modulus, answer.modulus))
			return false;
		const steps = Q.divide(Q.subtract(gold.right, answer.right), gold.modulus);
		return steps.d === 1n && expressionsEqual(gold.left, answer.left, budget);
	}
	if (gold.kind === 'relation' && answer.kind === 'relation') return relationsAgree(gold, answer, budget);
	if (gold.kind === 'sequence' && answer.kind === 'sequence') return sequencesAgree(gold, answer, budget);
	if (gold.kind === 'region' || answer.kind === 'region') {
		const [a, b] = [asRegion(gold), asRegion(answer)];
		return a !== null && b !== null && regionsAgree(a, b, budget);
	}
	if (gold.kind === 'list' && answer.kind === 'list') return listsAgree(gold, answer, budget);
	// One element in braces is that element.
	if (gold.kind === 'list' && gold.items.length === 1) return answersAgree(gold.items[0] as Answer, answer, budget);
	if (answer.kind === 'list' && answer.items.length === 1) return answersAgree(gold, answer.items[0] as Answer, budget);
	if (gold.kind === 'list' && answer.kind === 'sequence') return namesMatchTuple(gold, answer, budget);
	if (gold.kind === 'sequence' && answer.kind === 'list') return namesMatchTuple(answer, gold, budget);
	return false;
}

function wordsOf(answer: Answer): string | null {
	if (answer.kind === 'words') return answer.words;
	if (answer.kind === 'scalar') return literalWords(answer.source) || null;
	if (answer.kind === 'list' && answer.items.length > 0) {
		const words = answer.items.map(wordsOf);
		return words.some((one) => one === null) ? null : words.join(', ');
	}
	if (answer.kind === 'list') return 'no solution';
	return null;
}

/** A name that only one side has is dropped; two names must be the same, but for an index or an argument. */
function namedAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	if (gold.kind === 'named' && answer.kind === 'named') {
		if (gold.name === answer.name || baseName(gold.name) === baseName(answer.name) || functionNames(gold, answer)) {
			return answersAgree(gold.value, answer.value, budget);
		}
		const [a, b] = [equationOf(gold), equationOf(answer)];
		return a !== null && b !== null && relationsAgree(a, b, budget);
	}
	const [named, other] = (gold.kind === 'named' ? [gold, answer] : [answer, gold]) as [Named, Answer];
	if (other.kind === 'relation') {
		const equation = equationOf(named);
		return equation !== null && relationsAgree(equation, other, budget);
	}
	return gold.kind === 'named' ? answersAgree(gold.value, answer, budget) : answersAgree(gold, named.value, budget);
}

/** `y` and `f(x)` both name the value of a function of x. */
function functionNames(gold: Named, answer: Named): boolean {
	const names = [gold.name, answer.name];
	return names.includes('y') && names.some((name) => /^[a-zA-Z]\(x\)$/.test(name));
}

/** `y = 2x + 1` as an equation; null when the name is no letter. */
function equationOf({ name, value }: Named): Relation | null {
	if (value.kind !== 'scalar') return null;
	const letter = /^([a-zA-Z])(?:_\{?(\w)\}?)?$/.exec(name);
	if (letter !== null) {
		const symbol = letter[2] === undefined ? (letter[1] as string) : `${letter[1]}_${letter[2]}`;
		return { kind: 'relation', sides: [{ op: 'symbol', name: symbol }, value.expression], comparisons: ['='] };
	}
	// xy = 3 may be a product.
	if (!/^[a-z]{2,4}$/.test(name)) return null;
	const product: Expression = { op: 'multiply', args: [...name].map((one) => ({ op: 'symbol', name: one }) as const) };
	return { kind: 'relation', sides: [product, value.expression], comparisons: ['='] };
}

function choicesAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	const letterOf = (one: Answer): string | null => {
		if (one.kind === 'choice') return one.letter;
		const { expression } = one.kind === 'scalar' ? one : { expression: null };
		return expression?.op === 'symbol' && /^[A-J]$/.test(expression.name) ? expression.name : null;
	};
	const [a, b] = [letterOf(gold), letterOf(answer)];
	if (a !== null && b !== null) {
		// A letter with a text decides by its letter; "E = mc^2" has none.
		return a === b;
	}
	// The option's text in place of its letter.
	const rest = (gold.kind === 'choice' ? gold : (answer as Choice)).rest;
	const other = gold.kind === 'choice' ? answer : gold;
	return rest !== null && wordsOf(other) !== null && literalWords(rest) === wordsOf(other) && budget !== undefined;
}

const hundred = Q.rational(100n);

/** The value that a side stands for, its percent sign and unit applied. */
function scaled(side: Scalar, factor: Q.Rational): Scalar {
	if (Q.equal(factor, Q.one)) return side;
	const expression: Expression = { op: 'multiply', args: [{ op: 'number', value: factor }, side.expression] };
	let exact: Q.Rational | null = null;
	try {
		exact = side.exact === null ? null : Q.multiply(side.exact, factor);
	} catch {
		// Too many digits: left to evaluation.
	}
	return { ...side, expression, exact };
}

export function scalarsAgree(gold: Scalar, answer: Scalar, budget: Budget): boolean {
	if (sameText(gold, answer)) return true;
	const factors = conversion(gold.unit, answer.unit);
	if (factors === null) return angleAgrees(gold, answer, budget);
	if (
		(gold.unit?.dimension === 'angle') !== (answer.unit?.dimension === 'angle') &&
		angleAgrees(gold, answer, budget)
	) {
		return true;
	}
	const [a, b] = [scaled(gold, factors.a), scaled(answer, factors.b)];
	if (gold.percent === answer.percent) return plainAgree(a, b, budget) || letterUnitAgrees(gold, answer);
	// 50% is 0.5, and 50 where the question asks for a percentage.
	if (plainAgree(a, b, budget)) return true;
	const hundredth = Q.divide(Q.one, hundred);
	return plainAgree(gold.percent ? scaled(a, hundredth) : a, answer.percent ? scaled(b, hundredth) : b, budget);
}

function sameText(gold: Scalar, answer: Scalar): boolean {
	const text = gold.source.replace(/\s/g, '');
	return (
		text !== '' &&
		text === answer.source.replace(/\s/g, '') &&
		gold.percent === answer.percent &&
		gold.unit?.dimension === answer.unit?.dimension
	);
}

/** 60° is π/3. */
function angleAgrees(gold: Scalar, answer: Scalar, budget: Budget): boolean {
	const isRadian = (side: Scalar) => side.unit === null || side.unit.dimension === 'angle:radian';
	const degrees = gold.unit?.dimension === 'angle' ? gold : answer;
	const radians = degrees === gold ? answer : gold;
	if (degrees.unit?.dimension !== 'angle' || !isRadian(radians) || radians.exact !== null) return false;
	const expression: Expression = {
		op: 'divide',
		args: [
			{ op: 'multiply', args: [degrees.expression, { op: 'constant', name: 'pi' }] },
			{ op: 'number', value: Q.rational(180n) },
		],
	};
	return plainAgree({ ...degrees, expression, exact: null }, radians, budget);
}

/** `5m` read as a product is `5 \text{ m}`. */
function letterUnitAgrees(gold: Scalar, answer: Scalar): boolean {
	if ((gold.unit === null) === (answer.unit === null)) return false;
	const bare = (side: Scalar) => side.source.replace(/\\text ?\{([^{}]*)\}/g, '$1').replace(/[\s{}\\]/g, '');
	return bare(gold) === bare(answer);
}

function plainAgree(a: Scalar, b: Scalar, budget: Budget): boolean {
	if (a.exact !== null && b.exact !== null) {
		if (Q.equal(a.exact, b.exact)) return true;
		if (a.digits !== null && decimalFits(a, b.exact, b)) return true;
		return b.digits !== null && decimalFits(b, a.exact, a);
	}
	if (a.digits !== null || b.digits !== null) {
		const [decimal, other] = a.digits !== null ? [a, b] : [b, a];
		if (decimal.exact === null || decimal.digits === null) return false;
		const bounds = valueBounds(other.expression, budget);
		return bounds !== null && decimalStandsFor(decimal.exact, decimal.digits, bounds[0], bounds[1]);
	}
	return expressionsEqual(a.expression, b.expression, budget);
}

/** Two decimals are equal when they are the same number, but for the noise of a printed floating-point number. */
function decimalFits(decimal: Scalar, value: Q.Rational, other: Scalar): boolean {
	if (decimal.exact === null || decimal.digits === null) return false;
	if (other.digits !== null && decimal.digits < 12) return false;
	return decimalStandsFor(decimal.exact, decimal.digits, value, value);
}

/** A rational interval around the real value of a constant. */
function valueBounds(expression: Expression, budget: Budget): [Q.Rational, Q.Rational] | null {
	if (freeSymbols(expression).size > 0) return null;
	const result = evaluate(expression, new Map(), budget);
	if (result === null || result.value.im > F.unit >> F.agreement || result.value.im < -(F.unit >> F.agreement))
		return null;
	const error = result.scale >> F.agreement;
	// Cut by 64 bits, so that bounds stay short.
	const at = (value: bigint): Q.Rational => Q.rational(value >> 64n, 1n << (F.bits - 64n));
	return [at(result.value.re - error), at(result.value.re + error)];
}

function matricesAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	const [a, b] = [asMatrix(gold), asMatrix(answer)];
	if (a === null || b === null || a.determinant !== b.determinant) return false;
	if (a.rows.length !== b.rows.length) return false;
	return a.rows.every((row, i) => {
		const other = b.rows[i] as readonly Answer[];
		return row.length === other.length && row.every((cell, j) => answersAgree(cell, other[j] as Answer, budget));
	});
}

/** A tuple in round brackets is a column. */
function asMatrix(answer: Answer): Matrix | null {
	if (answer.kind === 'matrix') {
		const row = answer.rows[0] ?? [];
		return answer.rows.length === 1 && row.length > 1 ? { ...answer, rows: row.map((cell) => [cell]) } : answer;
	}
	if (answer.kind !== 'sequence' || answer.open !== '(' || answer.close !== ')') return null;
	return { kind: 'matrix', rows: answer.items.map((item) => [item]), determinant: false };
}

/** The base may be left out, as it is the question's; digits count. With both bases the values count. */
function basedAgree(gold: Answer, answer: Answer): boolean {
	if (gold.kind === 'based' && answer.kind === 'based') {
		if (gold.base === answer.base) return gold.digits === answer.digits;
		return baseValue(gold.digits, gold.base) === baseValue(answer.digits, answer.base);
	}
	const [based, other] = gold.kind === 'based' ? [gold, answer] : [answer, gold];
	if (based.kind !== 'based' || other.kind !== 'scalar' || other.unit !== null || other.percent) return false;
	return other.exact?.d === 1n && String(other.exact.n) === based.digits;
}

function baseValue(digits: string, base: number): bigint {
	let value = 0n;
	for (const digit of digits) value = value * BigInt(base) + BigInt(Number.parseInt(digit, 36));
	return value;
}

/** Proportional parts; times of day literally. `2:3` is 2/3. */
function ratiosAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	if (gold.kind === 'ratio' && answer.kind === 'ratio') {
		if (gold.clock !== null && answer.clock !== null) {
			const hours = (text: string) => text.replace(/[ap]$/, '');
			if (/[ap]$/.test(gold.clock) && /[ap]$/.test(answer.clock)) return gold.clock === answer.clock;
			return hours(gold.clock) === hours(answer.clock);
		}
		if (gold.parts.length !== answer.parts.length) return false;
		const [first, other] = [gold.parts[0] as Scalar, answer.parts[0] as Scalar];
		return gold.parts.every((part, i) =>
			expressionsEqual(
				{ op: 'multiply', args: [part.expression, other.expression] },
				{ op: 'multiply', args: [(answer.parts[i] as Scalar).expression, first.expression] },
				budget,
			),
		);
	}
	const [ratio, other] = (gold.kind === 'ratio' ? [gold, answer] : [answer, gold]) as [Ratio, Answer];
	if (ratio.parts.length !== 2 || other.kind !== 'scalar' || other.unit !== null || other.digits !== null) return false;
	if (ratio.clock !== null && /[ap]$|:0/.test(ratio.clock)) return false;
	const [top, bottom] = ratio.parts as readonly [Scalar, Scalar];
	return expressionsEqual({ op: 'divide', args: [top.expression, bottom.expression] }, other.expression, budget);
}

function sequencesAgree(gold: Sequence, answer: Sequence, budget: Budget): boolean {
	if (gold.open !== answer.open || gold.close !== answer.close || gold.items.length !== answer.items.length)
		return false;
	return gold.items.every((item, i) => answersAgree(item, answer.items[i] as Answer, budget));
}

/** In any order, each once; what occurs twice counts once. */
function listsAgree(gold: AnswerList, answer: AnswerList, budget: Budget): boolean {
	const names = (list: AnswerList) => list.items.length > 1 && list.items.every((item) => item.kind === 'named');
	if (names(gold) !== names(answer)) return namedInOrder(gold, answer, budget);
	const same = (a: Answer, b: Answer) =>
		(a.kind === 'named' && b.kind === 'named' ? baseOrSame(a.name, b.name) : true) && answersAgree(a, b, budget);
	const [a, b] = [distinct(gold.items, same), distinct(answer.items, same)];
	if (a.length !== b.length) return false;
	const left = [...b];
	for (const item of a) {
		const at = left.findIndex((other) => same(item, other));
		if (at < 0) return false;
		left.splice(at, 1);
	}
	return true;
}

const baseOrSame = (a: string, b: string): boolean => a === b || a.replace(/[{}]/g, '') === b.replace(/[{}]/g, '');

function distinct(items: readonly Answer[], same: (a: Answer, b: Answer) => boolean): Answer[] {
	const result: Answer[] = [];
	for (const item of items) if (!result.some((other) => same(other, item))) result.push(item);
	return result;
}

/** `x = 4, y = 5` against `4, 5`: in the order given. */
function namedInOrder(gold: AnswerList, answer: AnswerList, budget: Budget): boolean {
	if (gold.written === 'braces' || answer.written === 'braces' || gold.items.length !== answer.items.length)
		return false;
	return gold.items.every((item, i) => answersAgree(item, answer.items[i] as Answer, budget));
}

/** `x = 1, y = 2` against `(1, 2)`: names in alphabetical order. */
function namesMatchTuple(list: AnswerList, tuple: Sequence, budget: Budget): boolean {
	if (tuple.open !== '(' || tuple.close !== ')' || list.items.length !== tuple.items.length || list.items.length < 2)
		return false;
	const named = list.items.filter((item): item is Named => item.kind === 'named');
	if (named.length !== list.items.length || new Set(named.map(({ name }) => name)).size !== named.length) return false;
	const sorted = [...named].sort((a, b) => (a.name < b.name ? -1 : 1));
	return sorted.every((item, i) => answersAgree(item.value, tuple.items[i] as Answer, budget));
}

function regionsAgree(gold: Region, answer: Region, budget: Budget): boolean {
	if (gold.variable !== null && answer.variable !== null && gold.variable !== answer.variable) return false;
	if (gold.parts.length !== answer.parts.length) return false;
	const ends = (a: Endpoint, b: Endpoint): boolean => {
		if (a.value === null || b.value === null) return a.value === b.value;
		return a.closed === b.closed && scalarsAgree(a.value, b.value, budget);
	};
	return gold.parts.every((part, i) => {
		const other = answer.parts[i] as Region['parts'][number];
		return ends(part.low, other.low) && ends(part.high, other.high);
	});
}

/**
 * Equations with left minus right in a constant proportion, or with the same root in a letter in which both are linear;
 * inequalities in a positive proportion (a negative one turns them); chains side by side, in either direction.
 */
function relationsAgree(gold: Relation, answer: Relation, budget: Budget): boolean {
	if (gold.sides.length !== answer.sides.length) return false;
	if (gold.sides.length > 2) {
		const reversed: Relation = {
			kind: 'relation',
			sides: answer.sides.toReversed(),
			comparisons: answer.comparisons.toReversed().map((one) => flips[one]),
		};
		return [answer, reversed].some(
			(other) =>
				gold.comparisons.every((one, i) => one === other.comparisons[i]) &&
				gold.sides.every((side, i) => expressionsEqual(side, other.sides[i] as Expression, budget)),
		);
	}
	const [a, b] = [gold.comparisons[0] as keyof typeof flips, answer.comparisons[0] as keyof typeof flips];
	const [first, second] = [differenceOf(gold), differenceOf(answer)];
	const sign = proportion(first, second, budget);
	if (sign === 'positive') return a === b;
	if (sign === 'negative') return a === flips[b];
	if (sign === 'complex') return a === '=' && b === '=';
	return a === '=' && b === '=' && sameRoot(first, second, budget);
}

const flips = { '<': '>', '>': '<', '≤': '≥', '≥': '≤', '=': '=', '≠': '≠' } as const;

const differenceOf = ({ sides }: Relation): Expression => ({
	op: 'add',
	args: [sides[0] as Expression, negated(sides[1] as Expression)],
});

/** Whether a = c b for a constant c that is not zero, at random points; and its sign. */
function proportion(a: Expression, b: Expression, budget: Budget): 'positive' | 'negative' | 'complex' | null {
	const symbols = new Set([...freeSymbols(a), ...freeSymbols(b)].filter((name) => !name.endsWith('()')));
	if (symbols.size === 0 || symbols.size > 24) return null;
	const random = Random.of('relation', [...symbols].sort().join(' '));
	let factor: C.Complex | null = null;
	let counted = 0;
	for (let i = 0; i < 24 && counted < 6; i++) {
		const point = randomPoint(symbols, i % 2 === 0 ? 'positive' : 'real', random);
		const [first, second] = [evaluate(a, point, budget), evaluate(b, point, budget)];
		if (first === null || second === null || first.leftReals || second.leftReals) continue;
		if (isZero(first) || isZero(second)) return null;
		factor ??= C.divide(first.value, second.value);
		const expected: Value = { ...second, value: C.multiply(second.value, factor) };
		if (!nearlyEqual(first, expected, factor)) return null;
		counted++;
	}
	if (factor === null || counted < 4) return null;
	if (factor.im !== 0n) return 'complex';
	return factor.re > 0n ? 'positive' : 'negative';
}

function nearlyEqual(a: Value, b: Value, factor: C.Complex): boolean {
	const difference = C.magnitude(C.subtract(a.value, b.value));
	const stretch = C.magnitude(factor) > F.unit ? F.multiply(b.scale, C.magnitude(factor)) : b.scale;
	const scale = a.scale > stretch ? a.scale : stretch;
	return difference <= scale >> (F.agreement - 20n);
}

/**
 * Whether two equations have the same solutions for a letter in which both are linear, at random values of the other
 * letters, and whether both have none or all at 0 and ±1 (`xy = 2x` is not `y = 2`).
 */
function sameRoot(a: Expression, b: Expression, budget: Budget): boolean {
	const [inA, inB] = [freeSymbols(a), freeSymbols(b)];
	const symbols = [...inA].filter((name) => inB.has(name));
	if (symbols.length < 2 || inA.size !== inB.size || symbols.length !== inA.size || symbols.length > 6) return false;
	if (symbols.some((name) => name.endsWith('()'))) return false;
	const random = Random.of('root', symbols.sort().join(' '));
	for (const letter of symbols) {
		const others = symbols.filter((name) => name !== letter);
		let agreed = 0;
		let fits = true;
		for (let i = 0; i < 12 && fits; i++) {
			const point = new Map(randomPoint(others, i % 2 === 0 ? 'positive' : 'real', random));
			if (i >= 8) for (const name of others) point.set(name, Q.rational(BigInt((i % 4) - 1)));
			const [first, second] = [rootOf(a, letter, point, budget), rootOf(b, letter, point, budget)];
			// At the special places a side may be undefined where the other has no solution.
			if (i >= 8 && [first, second].every((one) => one === 'none' || one === 'undefined')) continue;
			if (first === 'undefined' && second === 'undefined') continue;
			if (typeof first === 'string' || typeof second === 'string') fits = i >= 8 && first === second;
			else {
				const difference = first > second ? first - second : second - first;
				fits = difference <= ((first < 0n ? -first : first) + F.unit) >> (F.agreement - 40n);
				if (i < 8) agreed++;
			}
		}
		if (fits && agreed >= 4) return true;
	}
	return false;
}

/** Root in one letter of what is linear in it. */
function rootOf(
	node: Expression,
	letter: string,
	point: ReadonlyMap<string, Q.Rational>,
	budget: Budget,
): bigint | 'none' | 'all' | 'undefined' | 'curved' {
	const at = (value: bigint): bigint | null => {
		const result = evaluate(node, new Map(point).set(letter, Q.rational(value)), budget);
		return result === null || result.leftReals || result.value.im !== 0n ? null : result.value.re;
	};
	const [first, second, third] = [at(2n), at(3n), at(5n)];
	if (first === null || second === null || third === null) return 'undefined';
	const slope = second - first;
	const error = third - first - 3n * slope;
	const size = [first, second, third].reduce((sum, one) => sum + (one < 0n ? -one : one), F.unit);
	if (error > size >> (F.agreement - 20n) || error < -(size >> (F.agreement - 20n))) return 'curved';
	const flat = slope <= size >> (F.agreement - 20n) && slope >= -(size >> (F.agreement - 20n));
	const offset = first - 2n * slope;
	if (flat) return offset <= size >> (F.agreement - 20n) && offset >= -(size >> (F.agreement - 20n)) ? 'all' : 'none';
	return F.divide(-offset, slope);
}

/** Whether a constant is a real number; used to hold a rounded value against its exact one. */
export function nearlyTheSame(exact: Answer, rounded: Answer): boolean {
	if (exact.kind === 'named') return nearlyTheSame(exact.value, rounded);
	if (rounded.kind === 'named') return nearlyTheSame(exact, rounded.value);
	if (exact.kind !== 'scalar' || rounded.kind !== 'scalar') return false;
	const [a, b] = [realValue(exact.expression), realValue(rounded.expression)];
	if (a === null || b === null) return false;
	const difference = a > b ? a - b : b - a;
	return difference * 50n <= (a < 0n ? -a : a);
}
