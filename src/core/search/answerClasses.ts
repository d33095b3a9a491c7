import { normalizeAnswer } from '../dataset/answer.ts';
import { compareMath } from '../math/compareMath.ts';

/**
 * Returns whether two answers are equivalent under the accuracy reward, with either one as the gold answer.
 * Non-mathematical answers are compared as text. Requires `loadLatexParser` for anything beyond plain numbers.
 */
export function equivalentAnswers(a: string, b: string): boolean {
	const [left, right] = [normalizeAnswer(a), normalizeAnswer(b)];
	if (left === right) return true;
	// Parsing integers as mathematics is a thousand times slower and gives the same result.
	if (wholeNumber.test(left) && wholeNumber.test(right)) return false;
	return compareMath(a, b, { sole: true }).value === 1 || compareMath(b, a, { sole: true }).value === 1;
}

const wholeNumber = /^-?\d{1,300}$/;

/**
 * Maximum number of classes per type that a new answer is compared with mathematically, because a single comparison can
 * take milliseconds.
 */
const maxCompared = 64;

interface AnswerClass {
	readonly id: number;
	/** First answer in the class. */
	readonly answer: string;
}

/**
 * Equivalence classes of answers. Each distinct string is compared once, with the first answer in each class, and the
 * result is cached. Answers that match none of the first 64 integer classes or the first 64 other classes form their
 * own class, so the total time is linear in the number of answers.
 */
export class AnswerClasses {
	readonly #same: (a: string, b: string) => boolean;
	readonly #ids = new Map<string, number>();
	#count = 0;
	/** First classes of each type; distinct integers are never equal. */
	readonly #whole: AnswerClass[] = [];
	readonly #other: AnswerClass[] = [];

	constructor(same: (a: string, b: string) => boolean = equivalentAnswers) {
		this.#same = same;
	}

	/**
	 * Returns the class index of an answer; classes are numbered from 0 in order of first occurrence.
	 * @param asText skips mathematical comparison, for callers that have run out of time
	 */
	of(answer: string, asText = false): number {
		const plain = this.#same === equivalentAnswers;
		const key = plain ? normalizeAnswer(answer) : answer;
		const known = this.#ids.get(key);
		if (known !== undefined) return known;
		const whole = plain && wholeNumber.test(key);
		const candidates = whole ? this.#other : [...this.#whole, ...this.#other].sort((a, b) => a.id - b.id);
		const found = asText ? undefined : candidates.find((one) => this.#same(one.answer, answer));
		const id = found?.id ?? this.#count++;
		this.#ids.set(key, id);
		const kind = whole ? this.#whole : this.#other;
		if (found === undefined && kind.length < maxCompared) kind.push({ id, answer });
		return id;
	}
}
