/** Coding tasks with correct and nearly correct programs, and rows that test them in all dataset formats. */

export interface Task {
	/** Arguments and expected values as JSON. */
	readonly cases: readonly (readonly [args: readonly unknown[], expected: unknown])[];
	readonly python: string;
	/** Incorrect Python expressions. */
	readonly wrong: readonly string[];
	readonly javascript: string;
	readonly wrongJavascript: readonly string[];
}

/** Twelve tasks with five nearly correct programs each. */
export const tasks: Readonly<Record<string, Task>> = {
	square: {
		cases: [
			[[3], 9],
			[[-4], 16],
		],
		python: 'a * a',
		wrong: ['a * abs(a)', 'a + a + 3', '9', 'float("inf")', 'str(a * a)'],
		javascript: 'a * a',
		wrongJavascript: ['a * Math.abs(a)', 'a + a + 3', '9', 'Infinity', 'String(a * a)'],
	},
	large: {
		cases: [
			[[1], 1000000007],
			[[2], 2000000014],
		],
		python: 'a * 1000000007',
		wrong: ['a * 1e9', 'a * 1000000007 + 1', 'a * 1000000006.5', 'float("nan")', 'None'],
		javascript: 'a * 1000000007',
		wrongJavascript: ['a * 1e9', 'a * 1000000007 + 1', 'a * 1000000006.5', 'NaN', 'null'],
	},
	half: {
		cases: [
			[[1], 0.5],
			[[3], 1.5],
		],
		python: 'a / 2',
		wrong: ['a // 2', 'a / 2 + 1e-4', 'float("inf")', 'str(a / 2)', '[a / 2]'],
		javascript: 'a / 2',
		wrongJavascript: ['Math.floor(a / 2)', 'a / 2 + 1e-4', 'Infinity', 'String(a / 2)', '[a / 2]'],
	},
	tiny: {
		cases: [
			[[1], 4e-7],
			[[2], 8e-7],
		],
		python: 'a * 4e-7',
		wrong: ['0', '0.0', 'a * 4.01e-7', 'a * -4e-7', 'a'],
		javascript: 'a * 4e-7',
		wrongJavascript: ['0', '-0', 'a * 4.01e-7', 'a * -4e-7', 'a'],
	},
	reverse: {
		cases: [
			[['abc'], 'cba'],
			[['aab'], 'baa'],
		],
		python: 'a[::-1]',
		wrong: ['a', 'list(a[::-1])', 'a[::-1] + " "', 'sorted(a)', '""'],
		javascript: '[...a].reverse().join("")',
		wrongJavascript: ['a', '[...a].reverse()', '[...a].reverse().join("") + " "', '[...a].sort()', '""'],
	},
	even: {
		cases: [
			[[4], true],
			[[7], false],
		],
		python: 'a % 2 == 0',
		wrong: ['True', '1 - a % 2', 'str(a % 2 == 0)', 'a % 2', 'None'],
		javascript: 'a % 2 === 0',
		wrongJavascript: ['true', '1 - (a % 2)', 'String(a % 2 === 0)', 'a % 2', 'undefined'],
	},
	evens: {
		cases: [
			[[[1, 2, 4]], [2, 4]],
			[[[3]], []],
		],
		python: '[x for x in a if x % 2 == 0]',
		wrong: ['[]', 'a', '{x for x in a if x % 2 == 0}', '[float("inf")] * 2', 'iter([])'],
		javascript: 'a.filter((x) => x % 2 === 0)',
		wrongJavascript: [
			'[]',
			'a',
			'new Set(a.filter((x) => x % 2 === 0))',
			'[Infinity, Infinity]',
			'[][Symbol.iterator]()',
		],
	},
	count: {
		cases: [
			[['aba'], { a: 2, b: 1 }],
			[['c'], { c: 1 }],
		],
		python: '{x: a.count(x) for x in a}',
		wrong: ['{}', '{x: 1 for x in a}', '{x: float(a.count(x)) + 0.5 for x in a}', 'list(a)', 'dict.fromkeys(a, True)'],
		javascript: 'Object.fromEntries([...a].map((x) => [x, a.split(x).length - 1]))',
		wrongJavascript: [
			'{}',
			'Object.fromEntries([...a].map((x) => [x, 1]))',
			'Object.fromEntries([...a].map((x) => [x, a.split(x).length - 0.5]))',
			'[...a]',
			'Object.fromEntries([...a].map((x) => [x, true]))',
		],
	},
	nested: {
		cases: [
			[
				[2],
				[
					[1, 2],
					[2, 4],
				],
			],
			[[1], [[1, 1]]],
		],
		python: '[[x, a * x] for x in range(1, a + 1)]',
		wrong: ['[[1, a]]', '[[x, a] for x in range(1, a + 1)]', '[x for x in range(a)]', '[[]] * a', 'a'],
		javascript: 'Array.from({ length: a }, (_, i) => [i + 1, a * (i + 1)])',
		wrongJavascript: [
			'[[1, a]]',
			'Array.from({ length: a }, (_, i) => [i + 1, a])',
			'[...Array(a).keys()]',
			'Array(a).fill([])',
			'a',
		],
	},
	first: {
		cases: [
			[[[5, 6]], 5],
			[[[]], null],
		],
		python: 'a[0] if a else None',
		wrong: ['a[0]', 'a[0] if a else 0', 'a[0] if a else False', 'a[-1] if a else None', 'a[:1] or None'],
		javascript: 'a.length > 0 ? a[0] : null',
		wrongJavascript: ['a[0]', 'a[0] ?? 0', 'a[0] ?? false', 'a.at(-1) ?? null', 'a.slice(0, 1)'],
	},
	sum: {
		cases: [
			[[[0.25, 0.5]], 0.75],
			[[[1.5, 1]], 2.5],
		],
		python: 'sum(a)',
		wrong: ['sum(a) + 1e-3', 'max(a)', 'float("-inf")', 'len(a)', 'str(sum(a))'],
		javascript: 'a.reduce((x, y) => x + y, 0)',
		wrongJavascript: [
			'a.reduce((x, y) => x + y, 1e-3)',
			'Math.max(...a)',
			'-Infinity',
			'a.length',
			'String(a[0] + a[1])',
		],
	},
	words: {
		cases: [
			[['a b'], ['a', 'b']],
			[[''], []],
		],
		python: 'a.split()',
		wrong: ['[a]', 'a.split(" ")', 'a', 'len(a.split())', '[x + " " for x in a.split()]'],
		javascript: 'a.split(" ").filter((x) => x !== "")',
		wrongJavascript: ['[a]', 'a.split(" ")', 'a', 'a.split(" ").length', 'a.split(" ").map((x) => x + " ")'],
	},
};

export const literal = (value: unknown): string =>
	JSON.stringify(value).replaceAll('true', 'True').replaceAll('false', 'False').replaceAll('null', 'None');

/** Builds a row for each dataset format. Floats are compared the way the benchmark's authors do. */
export const pythonForms: Readonly<Record<string, (task: Task) => Record<string, unknown>>> = {
	humaneval: ({ cases }) => ({
		...{ entry_point: 'solve', prompt: 'def solve(a):\n    """Solves it."""\n' },
		test: `def same(x, y):\n    if isinstance(y, float):\n        return type(x) in (int, float) and abs(x - y) <= 1e-6 * abs(y)\n    return type(x) is type(y) and x == y\ndef check(candidate):\n${cases.map(([args, value]) => `    assert same(candidate(*${literal(args)}), ${literal(value)})\n`).join('')}`,
	}),
	apps: ({ cases }) => ({
		input_output: JSON.stringify({
			fn_name: 'solve',
			inputs: cases.map(([args]) => args),
			outputs: cases.map(([, value]) => value),
		}),
	}),
	livecodebench: ({ cases }) => ({
		metadata: JSON.stringify({ func_name: 'solve' }),
		public_test_cases: JSON.stringify(
			cases.map(([args, value]) => ({
				input: args.map((one) => JSON.stringify(one)).join('\n'),
				output: JSON.stringify(value),
				testtype: 'functional',
			})),
		),
	}),
	synthetic: ({ cases }) => ({
		verification_info: JSON.stringify({
			test_cases: cases.map(([args, value]) => ({
				type: 'function_call',
				fn_name: 'solve',
				input: args,
				output: value,
			})),
		}),
	}),
	mbpp: ({ cases }) => ({
		test_list: cases.map(([args, value]) =>
			typeof value === 'number' && !Number.isInteger(value)
				? `assert type(solve(*${literal(args)})) in (int, float) and abs(solve(*${literal(args)}) - ${value}) <= 1e-6 * ${value}`
				: `assert solve(*${literal(args)}) == ${literal(value)} and type(solve(*${literal(args)})) is type(${literal(value)})`,
		),
	}),
};

/** Builds a LeetCodeDataset row whose answer defines a class `Solution`. */
export const leetCodeRow = ({ cases }: Task) => ({
	entry_point: 'Solution().solve',
	prompt: 'from typing import *\nfrom collections import *\nfrom math import *\nimport math\n',
	test: `def check(candidate):\n${cases.map(([[arg], value]) => `    x = candidate(a = ${literal(arg)})\n    assert type(x) is type(${literal(value)}) and (x == ${literal(value)} or isinstance(x, float) and abs(x - ${literal(value)}) <= 1e-6 * abs(x))\n`).join('')}`,
});
/** Builds a method without the imports that its annotation needs. */
export const method = (body: string) =>
	`class Solution:\n    def solve(self, a: List[int]) -> Optional[Any]:\n        return ${body}\n`;

/** Builds input and output streams. Programs read and write JSON here. */
const streams = ({ cases }: Task) =>
	cases.map(([[input], output]) => ({ input: JSON.stringify(input), output: JSON.stringify(output) }));

/** Formats in which the harness compares values, for both languages. */
export const callForms = ['apps', 'livecodebench', 'synthetic'] as const;

export const javascriptForms: Readonly<Record<string, (task: Task) => Record<string, unknown>>> = {
	...Object.fromEntries(callForms.map((form) => [form, pythonForms[form] as (typeof pythonForms)[string]])),
	/** HumanEval-X format. */
	humanevalx: ({ cases }) => ({
		prompt: '/* Solves it. */\nconst solve = (a) => {\n',
		test: `const same = (x, y) => (typeof y === 'number' && !Number.isInteger(y) ? typeof x === 'number' && Math.abs(x - y) <= 1e-6 * y : require('node:util').isDeepStrictEqual(x, y));
const testSolve = () => {
${cases.map(([[arg], value]) => `  console.assert(same(solve(${JSON.stringify(arg)}), ${JSON.stringify(value)}))\n`).join('')}}
testSolve()`,
	}),
	asserts: ({ cases }) => ({
		tests: cases.map(([[arg], value]) =>
			typeof value === 'number' && !Number.isInteger(value)
				? `const x = solve(${JSON.stringify(arg)}); assert(typeof x === 'number' && Math.abs(x - ${value}) <= 1e-6 * ${value})`
				: `assert.deepStrictEqual(solve(${JSON.stringify(arg)}), ${JSON.stringify(value)})`,
		),
	}),
};

/** Formats for programs that use standard input: APPS and a list of pairs. */
export const streamForms: Readonly<Record<string, (task: Task) => Record<string, unknown>>> = {
	apps: (task) => {
		const cases = streams(task);
		return { input_output: { inputs: cases.map(({ input }) => input), outputs: cases.map(({ output }) => output) } };
	},
	livecodebench: (task) => ({ public_test_cases: streams(task).map((one) => ({ ...one, testtype: 'stdin' })) }),
	pairs: (task) => ({ tests: streams(task) }),
};

export const javascriptSolution = (body: string) => `const solve = (a) => (${body});\n`;
export const pythonProgram = (body: string) =>
	`import json\na = json.loads(input())\nprint(json.dumps(${body}, separators=(",", ":")))\n`;
/** Builds a program for LiveCodeBench's grader, which predefines all names from these modules. */
export const programWithoutImports = (body: string) =>
	`a = loads(input())\nprint(dumps(${body}, separators=(",", ":")))\n`;
export const javascriptProgram = (body: string) =>
	`const a = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));\nconsole.log(JSON.stringify(${body}));\n`;

export const solution = (body: string) => `def solve(a):\n    return ${body}\n`;
