import type { Random } from '../../base/random.ts';
import type { Task, TaskProblem } from './problem.ts';
import { digitSymbols } from './settings.ts';

const alphabet = [...'abcdefghijklmnopqrstuvwxyz'];

/** Lists the numbered letters forward, then backward: `r:abc=` gives `a1b2c3;c3b2a1`. */
function reverseSteps(word: readonly string[]): string {
	const numbered = word.map((letter, i) => `${letter}${i + 1}`);
	return `${numbered.join('')};${numbered.toReversed().join('')}`;
}

/** Lists each letter that occurs, in alphabetical order, with its count: `s:hello=` gives `e1h1l2o1`. */
function sortSteps(word: readonly string[]): string {
	return alphabet
		.map((letter) => ({ letter, times: word.filter((one) => one === letter).length }))
		.filter(({ times }) => times > 0)
		.map(({ letter, times }) => `${letter}${times}`)
		.join('');
}

export interface StringSettings {
	/** Number of letters in the word. */
	readonly length: number;
	readonly operation: 'reverse' | 'sort' | 'both';
}

export function stringTask({ length, operation }: StringSettings): Task {
	let numbered = 0;
	for (let i = 1; i <= length; i++) numbered += 1 + String(i).length;
	const signs = operation === 'both' ? ['r', 's'] : operation === 'reverse' ? ['r'] : ['s'];
	return {
		name: 'string',
		symbols: [...new Set([...alphabet, ...digitSymbols, ':', '=', ';'])],
		maxPromptLength: length + 3,
		maxSolutionLength: operation === 'sort' ? 2 * length : 2 * numbered + 1,
		maxAnswerLength: length,
		sample(random: Random): TaskProblem {
			const word = Array.from({ length }, () => random.pick(alphabet));
			const text = word.join('');
			const sign = random.pick(signs);
			const sorted = word.toSorted().join('');
			return {
				prompt: `${sign}:${text}=`,
				answer: sign === 'r' ? word.toReversed().join('') : sorted,
				solution: sign === 'r' ? reverseSteps(word) : sortSteps(word),
				// Different permutations of the same letters are the same sorting problem.
				key: sign === 'r' ? `r:${text}` : `s:${sorted}`,
				row: { word: text, operation: sign === 'r' ? 'reverse' : 'sort' },
			};
		},
		verify: (question, answer) => question.answer !== null && answer.trim() === question.answer,
	};
}
