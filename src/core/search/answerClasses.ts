import { normaliseAnswer } from '../dataset/answer.ts';
import { compareMath } from '../math/compareMath.ts';

/**
 * Whether two stated answers are the same by the accuracy reward's equivalence, whichever of them is taken for the gold one;
 * what is no mathematics is compared as text. Needs `loadLatexParser` for more than plain numbers.
 */
export function equivalentAnswers(a: string, b: string): boolean {
	const [left, right] = [normaliseAnswer(a), normaliseAnswer(b)];
	if (left === right) return true;
	// Reading them as mathematics takes a thousand times as long and says the same of whole numbers.
	if (wholeNumber.test(left) && wholeNumber.test(right)) return false;
	return compareMath(a, b, { sole: true }).value === 1 || compareMath(b, a, { sole: true }).value === 1;
}

const wholeNumber = /^-?\d{1,300}$/;

/** Classes of each kind with which a new answer is compared as mathematics; one comparison may take milliseconds. */
const maxCompared = 64;

interface AnswerClass {
	readonly id: number;
	/** Its first answer. */
	readonly answer: string;
}

/**
 * Equivalence classes of answers. A text is compared once, with the first answer of each class, and looked up afterwards. What
 * equals none of the first 64 whole numbers and of the first 64 other answers is a class of its own: the work grows with the
 * number of answers, not with its square.
 */
export class AnswerClasses {
	readonly #same: (a: string, b: string) => boolean;
	readonly #ids = new Map<string, number>();
	#count = 0;
	/** The first classes of each kind; no whole number equals another. */
	readonly #whole: AnswerClass[] = [];
	readonly #other: AnswerClass[] = [];

	constructor(same: (a: string, b: string) => boolean = equivalentAnswers) {
		this.#same = same;
	}

	/**
	 * Number of an answer's class, from 0 in the order in which classes were met.
	 * @param asText compares nothing as mathematics: for a caller that has no time left
	 */
	of(answer: string, asText = false): number {
		const plain = this.#same === equivalentAnswers;
		const key = plain ? normaliseAnswer(answer) : answer;
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
