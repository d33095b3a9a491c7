import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CodeTests, readCodeTests } from '../../../src/rewards/codeTestsCases.ts';
import { sameOutput } from '../../../src/rewards/codeTestsOutput.ts';
import { runCodeTests } from '../../../src/rewards/codeTestsRun.ts';
import { testSandbox } from './sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();
const tests = (row: Record<string, unknown>) => readCodeTests(row) as CodeTests;
const run = (code: string, of: CodeTests, language: 'python' | 'javascript' = 'python') =>
	runCodeTests(sandbox, code, of, { timeoutSeconds: 10, memoryMb: 128, language, stopAtFailure: true });
async function passes(code: string, of: CodeTests, language: 'python' | 'javascript' = 'python'): Promise<boolean> {
	const { passed, total } = await run(code, of, language);
	return passed === total;
}

/** Runs every test of a row. */
const everyTest = (code: string, of: CodeTests, language: 'python' | 'javascript') =>
	runCodeTests(sandbox, code, of, { timeoutSeconds: 20, memoryMb: 128, language, stopAtFailure: false });

/** Values as Python and JavaScript literals, compared with expected JSON; numbers in text form come last. */
const values: readonly (readonly [expected: string, python: string, javascript: string, same: boolean])[] = [
	['9', 'float("inf")', 'Infinity', false],
	['9', '-float("inf")', '-Infinity', false],
	['9', 'float("nan")', 'NaN', false],
	['2.5', 'float("inf")', 'Infinity', false],
	['[1, 2]', '[float("inf"), 2]', '[Infinity, 2]', false],
	['1000000007', '1e9', '1e9', false],
	['1000000007', '1000000007.5', '1000000007.5', false],
	['1000000007', '1000000007', '1000000007', true],
	['0', '4e-7', '4e-7', false],
	['0.0000004', '0', '0', false],
	['0.3', '0.1 + 0.2', '0.1 + 0.2', true],
	['0.3', '0.3001', '0.3001', false],
	['2.5', '2.5000001', '2.5000001', true],
	['1', 'True', 'true', false],
	['true', '1', '1', false],
	['"9"', '9', '9', false],
	['[]', '[float("inf")]', '[Infinity]', false],
	['null', 'float("nan")', 'NaN', false],
];

describe('the return value of a call', { skip, concurrency: 2 }, () => {
	for (const language of ['python', 'javascript'] as const) {
		it(`is compared in ${language} with the expected value`, async () => {
			for (const same of [true, false]) {
				const rows = values.filter((row) => row[3] === same);
				const list = (pick: (row: (typeof values)[number]) => string) => rows.map(pick).join(', ');
				const code =
					language === 'python'
						? `def solve(i):\n    return [${list((row) => row[1])}][i]`
						: `function solve(i) { return [${list((row) => row[2])}][i]; }`;
				// One row with one test per value.
				const json = `{"fn_name": "solve", "inputs": [${rows.map((_, i) => `[${i}]`)}], "outputs": [${list((row) => row[0])}]}`;
				const { passed, total } = await everyTest(code, tests({ input_output: json }), language);
				assert.deepEqual([passed, total], [same ? rows.length : 0, rows.length]);
			}
			const single = tests({ input_output: '{"fn_name": "solve", "inputs": [[0]], "outputs": [9]}' });
			const infinity =
				language === 'python' ? 'def solve(i): return float("inf")' : 'function solve(i) { return Infinity; }';
			assert.equal(await passes(infinity, single, language), false);
		});

		it(`is compared in ${language} by the rule for its benchmark`, async () => {
			const code = language === 'python' ? 'def solve(x): return x' : 'function solve(x) { return x; }';
			const given = [
				[2.5000001, 2.5, false, true, true],
				[2.50001, 2.5, false, true, false],
				[2.5, 2.5, true, true, true],
				[1e-9, 0, false, language === 'javascript', language === 'javascript'],
			] as const;
			for (const [benchmark, rule] of [
				['LiveCodeBench', 2],
				['APPS', 3],
				['verification_info', 4],
			] as const) {
				for (const same of [true, false]) {
					const pairs = given.filter((row) => row[rule] === same);
					const cases = pairs.map(([value, output]) => {
						return { input: [value], output, type: 'function_call', fn_name: 'solve' };
					});
					const rows = {
						LiveCodeBench: {
							test_cases: cases.map((one) => ({ ...one, input: String(one.input[0]), testtype: 'functional' })),
							fn_name: 'solve',
						},
						APPS: {
							input_output: JSON.stringify({
								fn_name: 'solve',
								inputs: pairs.map(([value]) => [value]),
								outputs: pairs.map(([, output]) => output),
							}),
						},
						verification_info: { verification_info: { test_cases: cases } },
					};
					if (pairs.length === 0) continue;
					const { passed, total } = await everyTest(code, tests(rows[benchmark]), language);
					assert.deepEqual([passed, total], [same ? pairs.length : 0, pairs.length], `${benchmark}: ${same}`);
				}
			}
		});
	}
});

describe('program output', () => {
	it('is compared with the expected text', () => {
		for (const [written, expected, same] of [
			['inf', '2.5', false],
			['Infinity', '2.5', false],
			['nan', '2.5', false],
			['1e400', '2.5', false],
			['0', '0.0000004', false],
			['0.00000000001', '0.0', true],
			['2.5000001', '2.5', true],
			['2.51', '2.5', false],
			['1000000000', '1000000007', false],
			['1000000007.0', '1000000007', false],
		] as const) {
			assert.equal(sameOutput(written, expected), same, `${written} for ${expected}`);
		}
	});
});

const square = 'def solve(x):\n    return x * x\n';
const never = 'def solve(x):\n    return None\n';

/** Incorrect answers, each with tests that it passes in some other harness. */
const wrongAnswers: Readonly<Record<string, readonly [code: string, of: Record<string, unknown>]>> = {
	'fake builtins': [
		'__builtins__ = {"set": lambda *a: 1, "sorted": lambda *a: 1, "isinstance": lambda *a: True, "abs": lambda x: 0}\ndef solve(x):\n    return x\n',
		{ tests: ['__builtins__\nassert sorted(solve([2, 1])) == [1, 2] and set(solve([1])) == {7}'] },
	],
	"its own version of the row's helper": [
		'def solve(x):\n    return x\ndef poly(xs, x):\n    return 0\n',
		{
			entry_point: 'solve',
			prompt:
				'def poly(xs, x):\n    return sum(c * x**i for i, c in enumerate(xs))\n\ndef solve(xs):\n    """Finds a zero."""\n',
			test: 'def check(candidate):\n    from solution import *\n    assert abs(poly([1, 2], candidate(5))) < 1e-4\n',
		},
	],
	'its own isclose': [
		'def isclose(*a, **k):\n    return True\ndef solve(x):\n    return x\n',
		{ tests: ['assert isclose(solve(3), 9)'] },
	],
	'a class with a single instance': [
		'class Point:\n    one = None\n    def __new__(cls, *a):\n        cls.one = cls.one or object.__new__(cls)\n        return cls.one\ndef solve(x):\n    return Point()\n',
		{ tests: ['assert solve(3) == Point(1, 2)'] },
	],
	'an exit that a bare except would hide': [
		'import os\ndef solve(x):\n    os._exit(0)\n',
		{ tests: ['ok = True\ntry:\n    solve(3)\nexcept:\n    pass\nassert ok'] },
	],
	'an empty list whose items are tested': [
		'def solve(x):\n    return []\n',
		{ tests: ['for item in solve(3):\n    assert item > 0'] },
	],
	'a name that the test setup uses': [
		`helper = None\n${never}`,
		{ tests: ['assert solve(3) == limit'], test_setup_code: 'limit = helper[0]' },
	],
	'its own test with the same name': [
		'def test_solve():\n    pass\ndef solve(x):\n    return x\n',
		{ tests: ['def test_solve():\n    if solve(3) != 9:\n        raise ValueError()\n0 and test_solve()\nsolve(3)'] },
	],
	'a coroutine': ['async def solve(x):\n    return None\n', { tests: ['assert solve(3)'] }],
};

/** Tests that must fail for an answer that returns None, although some harnesses pass it. One checker runs them all. */
const testsOfNone = {
	'a pytest class': 'class TestSolve:\n    def test_three(self):\n        assert solve(3) == 9\nsolve(0)',
	'a test that skips None':
		'import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        x = solve(3)\n        if x is None:\n            self.skipTest("none")\n        self.assertEqual(x, 9)',
	'an async test': 'async def test_three():\n    assert solve(3) == 9\nsolve(0)',
};

/** Answers that define a name which their tests use but do not define. */
const judgedByItself: typeof wrongAnswers = {
	'its own expect': [
		'class Any:\n    def __getattr__(self, name):\n        return lambda *a: None\ndef expect(x):\n    return Any()\ndef solve(x):\n    return x\n',
		{ tests: ['expect(solve(3)).toBe(9)'] },
	],
	'its own assert_allclose': [
		'def assert_allclose(*a, **k):\n    pass\ndef solve(x):\n    return x\n',
		{ tests: ['assert_allclose(solve(3), 9)'] },
	],
	'its own comparison': [
		'def same_list(*a):\n    return True\ndef solve(x):\n    return x\n',
		{ entry_point: 'solve', test: 'def check(candidate):\n    assert same_list(candidate(3), [9])\n' },
	],
};

describe('an incorrect answer', { skip, concurrency: 2 }, () => {
	for (const [name, [code, of]] of Object.entries(wrongAnswers)) {
		it(`does not pass with ${name}`, async () => {
			const { passed, total } = await run(code, tests(of));
			assert.ok(passed < total, `${passed} of ${total}`);
		});
	}

	it(`fails all of these: ${Object.keys(testsOfNone).join(', ')}`, async () => {
		const { passed, total } = await everyTest(never, tests({ tests: Object.values(testsOfNone) }), 'python');
		assert.deepEqual([passed, total], [0, Object.keys(testsOfNone).length]);
	});

	for (const [name, [code, of]] of Object.entries(judgedByItself)) {
		it(`is not graded by ${name}: the row gets an error`, async () => {
			await assert.rejects(run(code, tests(of)), /Cannot run the tests in this row/);
		});
	}

	it('does not pass if the tests only print', () => {
		assert.throws(() => tests({ tests: ['print(solve(3) == 9)'] }), /assert nothing/);
	});

	it('does not pass with console.assert or a truthy object in JavaScript', async () => {
		const asserted = tests({ entry_point: 'solve', tests: ['console.assert(solve(3) === 9)'] });
		assert.equal(await passes('function solve(x) { return 4; }', asserted, 'javascript'), false);
		assert.equal(await passes('function solve(x) { return x * x; }', asserted, 'javascript'), true);
		const truthy = tests({ tests: ['assert(solve(3))', "require('node:assert')(solve(3))"] });
		assert.equal(await passes('class A {}\nfunction solve() { return new A(); }', truthy, 'javascript'), false);
		assert.equal(await passes('function solve() { return true; }', truthy, 'javascript'), true);
		const expecting = tests({ tests: ['expect(solve(3)).toBe(9)'] });
		const comparing = tests({ entry_point: 'solve', tests: ['assert(_.isEqual(solve(3), 9))'] });
		const lodash = 'const _ = { isEqual: () => true };\nfunction solve() { return 1; }';
		await assert.rejects(passes(lodash, comparing, 'javascript'), /they compare with _, which they do not define/);
		const own = 'const expect = () => ({ toBe() {} });\nglobalThis.expect = expect;\nfunction solve() { return 1; }';
		await assert.rejects(passes(own, expecting, 'javascript'), /they use expect, which is not defined/);
	});
});

/** JavaScript tests that finish after their synchronous code; `VALUE` is the expected value. */
const laterTests = [
	'(async () => { const x = await solve(3); assert.strictEqual(x, VALUE); })()',
	'Promise.resolve(solve(3)).then((x) => assert(x === VALUE))',
	'const x = solve(3); setTimeout(() => assert(x === VALUE), 5)',
	'const main = async () => { await null; assert(solve(3) === VALUE); };\nmain().catch(() => process.exit(1))',
	'if (solve(3) !== VALUE) process.exitCode = 1;',
	'const x = solve(3); process.on("exit", () => assert(x === VALUE));',
];

describe('JavaScript tests', { skip, concurrency: 2 }, () => {
	it('count failures that occur after their synchronous code', async () => {
		const row = tests({ tests: ['9', '8'].flatMap((value) => laterTests.map((test) => test.replace('VALUE', value))) });
		const { passed, total } = await runCodeTests(sandbox, 'function solve(x) { return x * x; }', row, {
			...{ timeoutSeconds: 10, memoryMb: 128, language: 'javascript', stopAtFailure: false },
		});
		assert.deepEqual([passed, total], [laterTests.length, 2 * laterTests.length]);
	});

	it('that use describe and it count every declared test', async () => {
		const one =
			'describe("solve", () => { it("a", () => assert(solve(3) === 9)); it("b", async () => assert(solve(2) === 5)); })';
		const row = tests({
			tests: [one, `const { test } = require("node:test"); ${one}; test("c", () => { assert(solve(1) === 1); })`],
		});
		const { passed, total } = await runCodeTests(sandbox, 'function solve(x) { return x * x; }', row, {
			...{ timeoutSeconds: 10, memoryMb: 128, language: 'javascript', stopAtFailure: false },
		});
		assert.deepEqual([passed, total], [3, 5]);
	});

	it('do not pass unless an assertion is reached', async () => {
		const none = tests({ tests: ['for (const x of solve(3)) assert(x > 0)'] });
		assert.equal(await passes('function solve() { return []; }', none, 'javascript'), false);
		assert.equal(await passes('function solve() { return [1]; }', none, 'javascript'), true);
	});

	for (const [name, test] of [
		['invalid JavaScript', 'assert(solve(3) === 9'],
		['a missing module', 'const { expect } = require("chai"); expect(solve(3)).to.equal(9)'],
		['Jest expectations', 'test("squares", () => { expect(solve(3)).toBe(9) })'],
		['a skipped test', 'it.skip("squares", () => assert(solve(3) === 9))'],
	] as const) {
		it(`that cannot run are a row error: ${name}`, async () => {
			const code = 'function solve(x) { return x * x; }';
			await assert.rejects(passes(code, tests({ tests: [test] }), 'javascript'), /Cannot run the tests in this row/);
		});
	}
});

/** Row in LeetCodeDataset format. */
const leetCode = {
	entry_point: 'Solution().square',
	prompt: 'from typing import *\nfrom collections import *\nimport math\n',
	test: 'def check(candidate):\n    assert candidate(nums = [3]) == 9\n    assert candidate(nums = []) == 0\n',
};
const liveCodeBench = (cases: readonly (readonly [string, string])[], name: string | null) => ({
	...(name === null ? {} : { metadata: JSON.stringify({ func_name: name }) }),
	public_test_cases: cases.map(([input, output]) => ({
		...{ input, output, testtype: name === null ? 'stdin' : 'functional' },
	})),
});

describe('an answer without imports', { skip, concurrency: 2 }, () => {
	const method = (body: string) =>
		`class Solution:\n    def square(self, nums: List[int]) -> int:\n        return ${body}\n`;
	const calls = liveCodeBench(
		[
			['[3]', '9'],
			['[]', '0'],
		],
		'square',
	);
	const streams = liveCodeBench([['3', '9']], null);
	const apps = { input_output: JSON.stringify({ inputs: ['3'], outputs: ['9'] }) };
	const deep = 'def down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\n';
	const humanEval = {
		entry_point: 'square',
		prompt: 'from typing import List\n\n\ndef square(nums: List[int]) -> int:\n    """The square."""\n',
		test: 'def check(candidate):\n    assert candidate([3]) == 9\n',
	};
	for (const [name, right, wrong, row] of [
		[
			'a method with imports from its prompt',
			method('sum(x ** 2 for x in deque(nums))'),
			method('len(deque(nums))'),
			leetCode,
		],
		['a LiveCodeBench method', method('sum(map(mul, nums, nums))'), method('gcd(9, 9)'), calls],
		[
			'a deeply recursive LiveCodeBench method',
			`${deep}${method('9 * (down(9000) == 9000) * len(nums)')}`,
			`${deep}${method('down(9)')}`,
			calls,
		],
		['a LiveCodeBench program', 'print(deque([int(input())])[0] ** 2)', 'print(deque([9, 8]))', streams],
		['an APPS program', 'print(Counter({1: int(input())})[1] ** 2)', 'print(Counter())', apps],
		['a HumanEval function', 'def square(nums: List[int]) -> int:\n    return 9', 'x: List[int] = []', humanEval],
	] as const) {
		it(`has the names that its benchmark provides: ${name}`, async () => {
			const { passed, total, why } = await run(right, tests(row));
			assert.equal(passed, total, why ?? '');
			assert.equal(await passes(wrong, tests(row)), false);
		});
	}

	it('has no extra names if the tests do not come from a benchmark', async () => {
		assert.equal(
			await passes('print(deque([int(input())])[0] ** 2)', tests({ tests: [{ input: '3', output: '9' }] })),
			false,
		);
	});
});

/** Tests in various forms, all of which must run. */
const rightForms = {
	'a pytest class': 'class TestSolve:\n    def test_three(self):\n        assert solve(3) == 9',
	'an async test': 'async def test_three():\n    assert solve(3) == 9',
	'a runner at the end':
		'import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(solve(3), 9)\nunittest.main()',
	'isclose without an import': 'assert isclose(solve(3), 9)',
	'names from the solution module': 'from solution import solve\nassert solve(3) == 9',
};
const proseRow = {
	entry_point: 'solve',
	prompt: 'Write this function:\ndef solve(x):\nwhich gives the square.',
	test: 'def check(candidate):\n    assert candidate(3) == 9\n',
};

describe('a correct answer', { skip, concurrency: 2 }, () => {
	it(`passes ${Object.keys(rightForms).join(', ')}`, async () => {
		const { passed, total, why } = await run(square, tests({ tests: Object.values(rightForms) }));
		assert.deepEqual([passed, total], [Object.keys(rightForms).length, Object.keys(rightForms).length], why ?? '');
	});

	it('passes with a prose prompt that contains code', async () => {
		const { passed, total, why } = await run(square, tests(proseRow));
		assert.equal(passed, total, why ?? '');
	});

	it('passes if it is a built-in type', async () => {
		assert.ok(await passes('solve = int\n', tests({ tests: ['assert solve("9") == 9'] })));
	});

	it('passes if the tests use a class that it defines', async () => {
		const code =
			'class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\ndef solve(pairs):\n    return sum(p.a * p.b for p in pairs)\n';
		assert.ok(await passes(code, tests({ tests: ['assert solve([Pair(1, 2), Pair(3, 4)]) == 14'] })));
	});
});

describe('tests in a form that cannot run', { skip, concurrency: 2 }, () => {
	for (const [name, test] of [
		['a fixture', 'def test_three(three):\n    assert solve(three) == 9'],
		['a generator', 'def test_all():\n    for i in range(3):\n        yield i\n    assert solve(3) == 9'],
		[
			'a skipped case',
			'import unittest\nclass T(unittest.TestCase):\n    @unittest.skip("later")\n    def test(self):\n        self.assertEqual(solve(3), 9)',
		],
		['invalid Python', 'assert solve(3) = 9'],
		['an instance of a class that the tests define', 'class Node:\n    value = 3\nassert solve(Node()) == 9'],
	] as const) {
		it(`are a row error rather than a wrong answer: ${name}`, async () => {
			await assert.rejects(run(square, tests({ tests: [test] })), /Cannot run the tests in this row/);
		});
	}

	it('are a row error if the setup fails', async () => {
		const row = { tests: ['assert solve(3) == 9'], test_setup_code: 'import no_such_module_at_all' };
		await assert.rejects(run(square, tests(row)), /No module named/);
	});
});
