import type { SampledProblem } from '../../../../src/core/reward/verification/rowsToVerify.ts';

const problem = (prompt: string, answer: string, solution: string | null, row: object = {}): SampledProblem => ({
	problem: { prompt, answer, solution, key: prompt, row: { prompt, answer, ...row } },
	name: prompt,
});

/** Problems with integer answers; some prompts contain the answer, and some are arithmetic. */
export const numberProblems: readonly SampledProblem[] = [
	problem('35+49=', '84', '5+9=14;1+3+4=8'),
	problem('Which is larger, 12 or 84? Say why. It is 84 if you can count.', '84', null),
	problem('A farmer has 17 sheep and buys 25. How many are there?', '42', '17+25=42'),
	problem('What is 6 * 7 + 100?', '142', '6*7=42;42+100=142'),
	problem('What is 8 - 29?', '-21', '29-8=21, and the sign is minus'),
];

/** Problems whose answers have many formats. */
export const mixedProblems: readonly SampledProblem[] = [
	...numberProblems,
	problem('What is the capital of France?', 'Paris', null),
	problem('Simplify 6/8.', '3/4', '6/8 = 3/4'),
	problem('Half of 5?', '2.5', null),
	problem('Which is a prime? A) 4 B) 7 C) 9 D) 15', 'B', '7 is prime'),
	problem('Solve x^2=4.', '\\{-2, 2\\}', null),
	problem('Expand (x+1)^2.', 'x^2+2x+1', null),
	problem('How many people live there?', '1,234,567', null),
	problem('Zero of 7x?', '0', null),
];

const test = 'assert add(1, 2) == 3\nassert add(20, 22) == 42\nassert add(-5, 5) == 0';
const double = 'assert double(4) == 8\nassert double(21) == 42\nassert double(-3) == -6';

/** Problems that ask for a Python function. */
export const codeProblems: readonly SampledProblem[] = [
	problem('Write add(a, b).', 'def add(a, b):\n    return a + b', null, { tests: test }),
	problem('Write double(a).', 'def double(a):\n    return 2 * a', null, { tests: double }),
];

const javascriptTest = 'assert(add(1, 2) == 3)\nassert(add(20, 22) == 42)\nassert(add(-5, 5) == 0)';
const javascriptDouble = 'assert(double(4) == 8)\nassert(double(21) == 42)\nassert(double(-3) == -6)';

/** Problems that ask for a JavaScript function. */
export const javascriptProblems: readonly SampledProblem[] = [
	problem('Write add(a, b).', 'function add(a, b) {\n  return a + b;\n}', null, {
		...{ tests: javascriptTest, entry_point: 'add' },
	}),
	problem('Write double(a).', 'function double(a) {\n  return 2 * a;\n}', null, {
		...{ tests: javascriptDouble, entry_point: 'double' },
	}),
];
