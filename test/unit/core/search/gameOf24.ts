import { evaluateExpression } from '../../../../src/core/dataset/expression.ts';
import type { GenerateRequest } from '../../../../src/core/search/policy.ts';
import { asked, type ThoughtPolicy, thoughtPolicy } from './thoughtPolicy.ts';

/** A remaining number with its exact value and derivation. */
interface Left {
	readonly top: number;
	readonly bottom: number;
	readonly made: string;
}

const shown = ({ top, bottom }: Left): string => (bottom === 1 ? `${top}` : `${top}/${bottom}`);

function gcd(a: number, b: number): number {
	return b === 0 ? Math.abs(a) : gcd(b, a % b);
}

function combined(a: Left, b: Left, operator: string): Left | null {
	const [top, bottom] = {
		'+': [a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom],
		'-': [a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom],
		'*': [a.top * b.top, a.bottom * b.bottom],
		'/': [a.top * b.bottom, a.bottom * b.top],
	}[operator] as [number, number];
	if (bottom === 0) return null;
	const divisor = gcd(top, bottom) * (bottom < 0 ? -1 : 1);
	return { top: top / divisor, bottom: bottom / divisor, made: `(${a.made} ${operator} ${b.made})` };
}

interface Move {
	readonly text: string;
	readonly left: readonly Left[];
}

/** Returns all arithmetic steps on two of the numbers. */
function moves(left: readonly Left[]): Move[] {
	const found: Move[] = [];
	for (const [i, a] of left.entries()) {
		for (const [j, b] of left.entries()) {
			if (i === j) continue;
			for (const operator of '+-*/') {
				if ('+*'.includes(operator) && i > j) continue;
				const made = combined(a, b, operator);
				if (made === null) continue;
				const rest = [...left.filter((_, k) => k !== i && k !== j), made];
				const text = `${shown(a)} ${operator} ${shown(b)} = ${shown(made)} (left: ${rest.map(shown).join(' ')})`;
				found.push({ text, left: rest });
			}
		}
	}
	return found;
}

function canReach(left: readonly Left[]): boolean {
	const [only] = left;
	if (left.length === 1) return only?.top === 24 && only.bottom === 1;
	return moves(left).some((move) => canReach(move.left));
}

/** Returns the numbers that remain after the steps in a prompt. */
function leftAfter(prompt: string): Left[] {
	const numbers = /Numbers: ([\d ]+)/.exec(prompt)?.[1]?.trim().split(' ').map(Number) ?? [];
	let left: readonly Left[] = numbers.map((n) => ({ top: n, bottom: 1, made: `${n}` }));
	for (const line of prompt.split('\n')) {
		if (!line.includes('(left:')) continue;
		left = moves(left).find(({ text }) => line.startsWith(text))?.left ?? left;
	}
	return [...left];
}

/**
 * A proposer for the Game of 24 that can do arithmetic: lists the steps starting with `first`, and evaluates states by
 * exhaustive search.
 * @param sight maximum number of remaining numbers it can evaluate; other states are "likely"
 */
export function gamePolicy(sight = 4, first = 0): ThoughtPolicy {
	return thoughtPolicy((request: GenerateRequest) => {
		const prompt = asked(request);
		const left = leftAfter(prompt);
		if (prompt.includes('Judge whether')) {
			const value = left.length > sight ? 'likely' : canReach(left) ? 'sure' : 'impossible';
			return `With ${left.map(shown).join(' ')} left this is my view.\n**Value:** ${value}.`;
		}
		const all = moves(left);
		const lines = all.map((_, i) => {
			const { text, left: rest } = all[(i + first) % all.length] as Move;
			const [only] = rest;
			const done = rest.length === 1 && only?.top === 24 && only.bottom === 1;
			return `${i + 1}. ${text}${done ? ` <answer>${only.made}</answer>` : ''}`;
		});
		return `Here are the steps:\n\n${lines.join('\n')}\n`;
	});
}

/** Returns whether an expression makes 24 from exactly these numbers. */
export function makes24(numbers: readonly number[], answer: string | null): boolean {
	const value = evaluateExpression(answer ?? '');
	const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b).join();
	return value?.value === 24 && sorted(value.numbers) === sorted(numbers);
}

export const gamePrompt = (numbers: readonly number[]): string =>
	`Use each number once, with + - * / and brackets, to make 24.\nNumbers: ${numbers.join(' ')}`;
