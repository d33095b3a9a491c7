import { normalizeAnswer } from '../dataset/answer.ts';
import { compareMath } from '../math/compareMath.ts';

/**
 * Whether two stated answers are equal under the equivalence of the accuracy reward, with either one as the gold
 * answer; non-mathematical answers are compared as text. Needs `loadLatexParser` for more than plain numbers.
 */
export function equivalentAnswers(a: string, b: string): boolean {
	const [left, right] = [normalizeAnswer(a), normalizeAnswer(b)];
	if (left === right) return true;
	// Parsing integers as mathematics takes a thousand times as long, with the same result.
	if (wholeNumber.test(left) && wholeNumber.test(right)) return false;
	return compareMath(a, b, { sole: true }).value === 1 || compareMath(b, a, { sole: true }).value === 1;
}

const wholeNumber = /^-?\d{1,300}$/;

/**
 * Max classes of each kind with which a new answer is compared as mathematics; one comparison may take milliseconds.
 */
const maxCompared = 64;

interface AnswerClass {
	readonly id: number;
	/** The first answer of the class. */
	readonly answer: string;
}

/**
 * Equivalence classes of answers. Each distinct text is compared once, with the first answer of each class, and looked
 * up afterwards. An answer that equals none of the first 64 integers and none of the first 64 other answers forms its
 * own class, so the work grows linearly with the number of answers.
 */
export class AnswerClasses {
	readonly #same: (a: string, b: string) => boolean;
	readonly #ids = new Map<string, number>();
	#count = 0;
	/** The first classes of each kind; distinct integers are never equal. */
	readonly #whole: AnswerClass[] = [];
	readonly #other: AnswerClass[] = [];

	constructor(same: (a: string, b: string) => boolean = equivalentAnswers) {
		this.#same = same;
	}

	/**
	 * Returns the class index of an answer, from 0 in order of first occurrence.
	 * @param asText skips mathematical comparison, for callers that have no time left
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
