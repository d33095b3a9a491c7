import { Failure } from '../../base/failure.ts';
import type { Random } from '../../base/random.ts';
import type { Task, TaskProblem } from './problem.ts';
import { digitSymbols } from './settings.ts';

export interface BaseConversionSettings {
	/** Exact number of digits in the decimal number (a single digit ranges from 1 to 9). */
	readonly digits: number;
	readonly base: number;
}

/**
 * Divides repeatedly with remainder. The remainders read backward form the result: `13>2=` gives
 * `13/2=6r1;6/2=3r0;3/2=1r1;1/2=0r1`, so the answer is 1101.
 */
export function baseConversionTask({ digits, base }: BaseConversionSettings): Task {
	if (base === 10) {
		throw new Failure(
			'invalid',
			'The task "base-conversion" cannot use base 10: its numbers are already decimal.',
			'Choose a different "base".',
		);
	}
	const low = 10 ** (digits - 1);
	const high = 10 ** digits - 1;
	const divisions = high.toString(base).length;
	const letters = [...'abcdef'].slice(0, Math.max(0, base - 10));
	return {
		name: 'base-conversion',
		symbols: [...digitSymbols, ...letters, '>', '/', '=', 'r', ';'],
		maxPromptLength: digits + String(base).length + 2,
		maxSolutionLength: divisions * (2 * digits + String(base).length + 5) - 1,
		maxAnswerLength: divisions,
		sample(random: Random): TaskProblem {
			const number = random.between(low, high);
			const steps: string[] = [];
			for (let rest = number; rest > 0; rest = Math.floor(rest / base)) {
				steps.push(`${rest}/${base}=${Math.floor(rest / base)}r${(rest % base).toString(base)}`);
			}
			return {
				prompt: `${number}>${base}=`,
				answer: number.toString(base),
				solution: steps.join(';'),
				key: `${number}>${base}`,
				row: { number, base },
			};
		},
		// Compare as text, not as a decimal number: a leading zero or comma makes the numeral wrong.
		verify: (question, answer) => question.answer !== null && answer.trim().toLowerCase() === question.answer,
	};
}
