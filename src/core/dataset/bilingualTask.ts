import { Failure } from '../../base/failure.ts';
import type { Random } from '../../base/random.ts';
import { answersEqual } from './answer.ts';
import type { Task, TaskProblem } from './problem.ts';
import { digitSymbols } from './settings.ts';

/**
 * Vocabulary for both languages: column names from right to left, words for other parts of solutions, and words for
 * plain sentences.
 */
const languages = {
	en: {
		columns: ['ones', 'tens', 'hundreds', 'thousands'],
		briefly: 'briefly',
		wait: 'wait',
		letters: 'letters',
		back: 'back',
		who: ['the cat', 'the dog', 'a bird', 'the fox', 'my aunt', 'a boy'],
		does: ['sees', 'likes', 'finds', 'calls', 'paints'],
		what: ['a tree', 'the moon', 'a road', 'the sea', 'an apple', 'the house'],
	},
	ru: {
		columns: ['единицы', 'десятки', 'сотни', 'тысячи'],
		briefly: 'сразу',
		wait: 'стоп',
		letters: 'буквы',
		back: 'назад',
		who: ['кот', 'пёс', 'птица', 'лиса', 'тётя', 'мальчик'],
		does: ['видит', 'любит', 'ищет', 'зовёт', 'рисует'],
		what: ['дерево', 'луну', 'дорогу', 'море', 'яблоко', 'дом'],
	},
} as const;
type Language = keyof typeof languages;
const bothLanguages = Object.keys(languages) as Language[];

const alphabet = [...'abcdefghijklmnopqrstuvwxyz'];
/** Number of letters in each word to reverse. */
const wordLetters = 4;

export interface BilingualSettings {
	/** Exact number of digits per addend. */
	readonly digits: number;
	/** Fraction of general problems, from 0 to 1. */
	readonly general: number;
	/** Language of worked solutions; `mixed` picks a language for each word. */
	readonly language: Language | 'mixed';
	/**
	 * Solution style. With `varied`, some solutions are too brief, and others contain a slip that is noticed and
	 * corrected.
	 */
	readonly style: 'full' | 'varied';
}

interface Column {
	/** Column position, counted from the right. */
	readonly place: number;
	/** `1+8+4=` */
	readonly sum: string;
	readonly value: number;
}

function columnsOf(a: number, b: number, digits: number): Column[] {
	let carry = 0;
	return Array.from({ length: digits }, (_, place) => {
		const [x, y] = [a, b].map((number) => Math.floor(number / 10 ** place) % 10) as [number, number];
		const value = carry + x + y;
		const sum = `${place === 0 ? '' : `${carry}+`}${x}+${y}=`;
		carry = value > 9 ? 1 : 0;
		return { place, sum, value };
	});
}

/**
 * Generates pretraining data for a base model that mixes languages: two types of problems with worked solutions in two
 * alphabets, plus plain sentences in both alphabets. A reasoning problem such as `add 285 149:` is solved column by
 * column from the right: `ones 5+9=14;tens 1+8+4=13;hundreds 1+2+1=4`. A general problem such as `reverse dbca:` has
 * the solution `letters d,b,c,a;back a,c,b,d`. A slip looks like `tens 1+8+4=12;wait tens 1+8+4=13`.
 */
export function bilingualTask({ digits, general, language, style }: BilingualSettings): Task {
	const places = languages.en.columns.length;
	if (digits > places) {
		throw new Failure(
			'invalid',
			`The task "bilingual" has no column names for ${digits}-digit numbers.`,
			`Set "digits" to ${places}.`,
		);
	}
	const low = digits === 1 ? 0 : 10 ** (digits - 1);
	const high = 10 ** digits - 1;
	const wordsOf = (random: Random) => languages[language === 'mixed' ? random.pick(bothLanguages) : language];

	function addition(random: Random): TaskProblem {
		const a = random.between(low, high);
		const b = random.between(low, high);
		const total = String(a + b);
		const manner = style === 'full' ? 'full' : random.pick(['brief', 'brief', 'brief', 'full', 'full', 'full', 'slip']);
		let solution = `${wordsOf(random).briefly} ${total}`;
		if (manner !== 'brief') {
			const columns = columnsOf(a, b, digits);
			const slip = manner === 'slip' ? random.int(digits) : -1;
			const clauses = columns.flatMap(({ place, sum, value }) => {
				const right = `${wordsOf(random).columns[place]} ${sum}${value}`;
				if (place !== slip) return [right];
				// A slip is off by one.
				const wrong = value === 0 ? 1 : value + (random.int(2) === 0 ? 1 : -1);
				return [`${wordsOf(random).columns[place]} ${sum}${wrong}`, `${wordsOf(random).wait} ${right}`];
			});
			solution = clauses.join(';');
		}
		return {
			prompt: `add ${a} ${b}:`,
			answer: total,
			solution,
			key: a < b ? `${a}+${b}` : `${b}+${a}`,
			row: { a, b, category: 'reasoning' },
		};
	}

	function reversal(random: Random): TaskProblem {
		const word = Array.from({ length: wordLetters }, () => random.pick(alphabet));
		const back = word.toReversed();
		const text = word.join('');
		return {
			prompt: `reverse ${text}:`,
			answer: back.join(''),
			solution: `${wordsOf(random).letters} ${word.join()};${wordsOf(random).back} ${back.join()}`,
			key: text,
			row: { word: text, category: 'general' },
		};
	}

	function fact(random: Random): string {
		const place = random.int(digits);
		const [x, y, carry] = [random.int(10), random.int(10), random.int(2)];
		const sum = place === 0 ? `${x}+${y}=${x + y}` : `${carry}+${x}+${y}=${carry + x + y}`;
		return `${languages[random.pick(bothLanguages)].columns[place]} ${sum}.`;
	}

	function sentence(random: Random): string {
		const { who, does, what } = languages[random.pick(bothLanguages)];
		return `${random.pick(who)} ${random.pick(does)} ${random.pick(what)}.`;
	}

	const said = Object.values(languages).flatMap((words) => Object.values(words).flat());
	const longest = (of: (words: (typeof languages)[Language]) => string) =>
		Math.max(...Object.values(languages).map((words) => of(words).length));
	// Each column consists of its name followed by `1+9+9=19`. The first column has no carry, and semicolons separate
	// columns.
	const columnLength = (place: number) =>
		longest(({ columns }) => columns[place] as string) + 1 + (place === 0 ? 6 : 8) + (place === 0 ? 0 : 1);
	const columnLengths = Array.from({ length: digits }, (_, place) => columnLength(place));
	const slipLength = Math.max(...columnLengths) + longest(({ wait }) => wait) + 2;
	const reasons = general < 1;
	const turns = general > 0;
	const added = columnLengths.reduce((sum, length) => sum + length, 0) + (style === 'varied' ? slipLength : 0);
	const reversed = longest(({ letters }) => letters) + longest(({ back }) => back) + 3 + 2 * (2 * wordLetters - 1);
	return {
		name: 'bilingual',
		symbols: [...new Set([...digitSymbols, ...alphabet, ...' +=;:,.', ...said.join('')])],
		maxPromptLength: Math.max(reasons ? 6 + 2 * digits : 0, turns ? 9 + wordLetters : 0),
		maxSolutionLength: Math.max(reasons ? added : 0, turns ? reversed : 0),
		maxAnswerLength: Math.max(reasons ? digits + 1 : 0, turns ? wordLetters : 0),
		sample(random: Random): TaskProblem {
			return random.next() < general ? reversal(random) : addition(random);
		},
		text: (random) => (random.int(3) === 0 ? fact(random) : sentence(random)),
		verify: ({ answer, row }, given) =>
			answer !== null && (row.category === 'general' ? given.trim() === answer : answersEqual(answer, given)),
	};
}
