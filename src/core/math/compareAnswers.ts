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
import { expressionsEqual } from './compareExpressions.ts';
import { relationsAgree } from './compareRelations.ts';
import { scalarsAgree } from './compareScalars.ts';
import type { Budget } from './evaluate.ts';
import type { Expression } from './expression.ts';
import { isUnknown, sameName } from './names.ts';
import * as Q from './rational.ts';
import { asRegion } from './regionAnswer.ts';
import { literalWords } from './words.ts';

/** Returns whether two answers are equal. Throws `TooMuchWork` if the comparison exceeds its budget. */
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
	// Braces around a single element are equivalent to the element.
	if (gold.kind === 'list' && gold.items.length === 1) return answersAgree(gold.items[0] as Answer, answer, budget);
	if (answer.kind === 'list' && answer.items.length === 1) return answersAgree(gold, answer.items[0] as Answer, budget);
	// "3/2 or 1.5" is one answer written twice.
	if (answer.kind === 'list' && answer.items.length > 1 && gold.kind !== 'list') {
		const [first, ...others] = answer.items as [Answer, ...Answer[]];
		const same =
			answer.written === 'bare' &&
			answersAgree(gold, first, budget) &&
			others.every((item) => answersAgree(gold, item, budget) && answersAgree(first, item, budget));
		return same || (gold.kind === 'sequence' && namesMatchTuple(answer, gold, budget));
	}
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

/**
 * Compares named answers. A name on only one side is ignored. If both sides have names, they must match except for
 * an index or argument.
 */
function namedAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	if (gold.kind === 'named' && answer.kind === 'named') {
		if (sameName(gold.name, answer.name)) {
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

/** Returns `y = 2x + 1` as an equation, or null if the name is neither a letter nor a possible product of letters. */
function equationOf({ name, value }: Named): Relation | null {
	if (value.kind !== 'scalar') return null;
	const letter = /^([a-zA-Z])(?:_\{?(\w)\}?)?$/.exec(name);
	if (letter !== null) {
		const symbol = letter[2] === undefined ? (letter[1] as string) : `${letter[1]}_${letter[2]}`;
		return { kind: 'relation', sides: [{ op: 'symbol', name: symbol }, value.expression], comparisons: ['='] };
	}
	// xy = 3 can be a product.
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
		if (a !== b) return false;
		// If both include the text of the option, the text must match too.
		if (gold.kind !== 'choice' || answer.kind !== 'choice' || gold.rest === null || answer.rest === null) return true;
		return literalWords(gold.rest) === literalWords(answer.rest);
	}
	// One side gives the option text instead of the letter.
	const rest = (gold.kind === 'choice' ? gold : (answer as Choice)).rest;
	const other = gold.kind === 'choice' ? answer : gold;
	return rest !== null && wordsOf(other) !== null && literalWords(rest) === wordsOf(other) && budget !== undefined;
}

function matricesAgree(gold: Answer, answer: Answer, budget: Budget): boolean {
	const [a, b] = [asMatrix(gold, answer), asMatrix(answer, gold)];
	if (a === null || b === null || a.rows.length !== b.rows.length) return false;
	return a.rows.every((row, i) => {
		const other = b.rows[i] as readonly Answer[];
		return row.length === other.length && row.every((cell, j) => answersAgree(cell, other[j] as Answer, budget));
	});
}

const isRow = (item: Answer): boolean => item.kind === 'sequence' && item.open === '[' && item.close === ']';

/**
 * Converts an answer to a matrix. `[[1, 2], [3, 4]]` lists rows. A tuple in parentheses does not specify a shape: it is
 * a row if the other side is a row, and a column otherwise.
 */
function asMatrix(answer: Answer, other: Answer): Matrix | null {
	if (answer.kind === 'matrix') return answer;
	if (answer.kind !== 'sequence') return null;
	if (answer.items.every(isRow)) {
		return { kind: 'matrix', rows: answer.items.map((row) => (row as Sequence).items) };
	}
	if (answer.open !== '(' || answer.close !== ')') return null;
	const isOtherRow = other.kind === 'matrix' && other.rows.length === 1;
	return { kind: 'matrix', rows: isOtherRow ? [answer.items] : answer.items.map((item) => [item]) };
}

/**
 * Compares digits if the base is the same or omitted (in which case the question specifies it), and values if the bases
 * differ.
 */
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

/** Compares ratios by proportion and times of day literally. `2:3` equals 2/3. */
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

/**
 * Compares lists in any order. Repeated values count once, unless both sides are plain lists with repeats (`1, 1, 2` is
 * not `1, 2, 2`). Named values are matched by name, or with plain values in the given order (`AB = 4, CD = 5` is `4,
 * 5`), unless they are values of an unknown.
 */
function listsAgree(gold: AnswerList, answer: AnswerList, budget: Budget): boolean {
	if (gold.name !== undefined && answer.name !== undefined && !sameName(gold.name, answer.name)) return false;
	const [goldNames, answerNames] = [namesOf(gold), namesOf(answer)];
	if (goldNames !== null && answerNames !== null) {
		return (
			goldNames.length === answerNames.length &&
			[...gold.items]
				.sort(byName)
				.every((item, i) => answersAgree(item, [...answer.items].sort(byName)[i] as Answer, budget))
		);
	}
	const named = goldNames ?? answerNames;
	if (named !== null) {
		const other = goldNames === null ? gold : answer;
		if (other.name !== undefined && named.some((name) => !sameName(name, other.name as string))) return false;
		if (!named.every(isUnknown)) return inOrder(gold, answer, budget);
	}
	const same = (a: Answer, b: Answer) => answersAgree(a, b, budget);
	const [goldSet, answerSet] = [distinct(gold.items, same), distinct(answer.items, same)];
	const repeats = goldSet.length < gold.items.length && answerSet.length < answer.items.length;
	const asSets = !repeats || gold.written === 'braces' || answer.written === 'braces';
	const [a, b] = asSets ? [goldSet, answerSet] : [gold.items, answer.items];
	if (a.length !== b.length) return false;
	const left = [...b];
	for (const item of a) {
		const at = left.findIndex((other) => same(item, other));
		if (at < 0) return false;
		left.splice(at, 1);
	}
	return true;
}

/** Returns the names of the parts if every part has one. */
function namesOf({ items }: AnswerList): string[] | null {
	const names = items.flatMap((item) => (item.kind === 'named' ? [item.name] : []));
	return items.length > 1 && names.length === items.length ? names : null;
}

const byName = (a: Answer, b: Answer): number =>
	a.kind === 'named' && b.kind === 'named' ? (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : 0;

function distinct(items: readonly Answer[], same: (a: Answer, b: Answer) => boolean): Answer[] {
	const result: Answer[] = [];
	for (const item of items) if (!result.some((other) => same(other, item))) result.push(item);
	return result;
}

function inOrder(gold: AnswerList, answer: AnswerList, budget: Budget): boolean {
	if (gold.written === 'braces' || answer.written === 'braces' || gold.items.length !== answer.items.length)
		return false;
	return gold.items.every((item, i) => answersAgree(item, answer.items[i] as Answer, budget));
}

/** Matches `x = 1, y = 2` with `(1, 2)`, taking the names in alphabetical order. */
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
