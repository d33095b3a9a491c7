import { answersEqual } from '../dataset/answer.ts';
import { compareMath } from '../math/compareMath.ts';

/**
 * Whether two stated answers are the same by the accuracy reward's equivalence, whichever of them is taken for the gold one;
 * what is no mathematics is compared as text. Needs `loadLatexParser` for more than plain numbers.
 */
export function equivalentAnswers(a: string, b: string): boolean {
	if (a === b || answersEqual(a, b)) return true;
	return compareMath(a, b, { sole: true }).value === 1 || compareMath(b, a, { sole: true }).value === 1;
}

/**
 * Answers in classes of the same answer: a text is compared once, with one answer of each class, and looked up from then on.
 */
export class AnswerClasses {
	readonly #same: (a: string, b: string) => boolean;
	readonly #classes = new Map<string, number>();
	readonly #first: string[] = [];

	constructor(same: (a: string, b: string) => boolean = equivalentAnswers) {
		this.#same = same;
	}

	/** Number of an answer's class, from 0 in the order in which classes were met. */
	of(answer: string): number {
		let found = this.#classes.get(answer);
		if (found === undefined) {
			found = this.#first.findIndex((first) => this.#same(first, answer));
			if (found < 0) found = this.#first.push(answer) - 1;
			this.#classes.set(answer, found);
		}
		return found;
	}
}
