/** Answers with tests and the expected verdicts of the checkers. Covers every decision that a checker makes. */

export interface CheckerCase {
	readonly answer: string;
	readonly tests: object;
	/**
	 * Number of parts that pass, and total; fault: a row error, so nothing could be tested; load: the answer failed to
	 * load.
	 */
	readonly says: readonly [passed: number, parts: number] | 'fault' | 'load';
}

const tolerance = { relative: 1e-6, zero: 1e-9 };
const calls = (pairs: string, more = '') => {
	const list = JSON.parse(`[${pairs}]`) as unknown[];
	const of = (first: number) => JSON.stringify(list.filter((_, i) => i % 2 === first));
	return { calls: `{"inputs":${of(0)},"outputs":${of(1)}${more}}`, tolerance };
};
const given = (answer: string, tests: object, says: CheckerCase['says']): CheckerCase => ({ answer, tests, says });
const square = 'def solve(x):\n    return x * x\n';
const same = 'def solve(x):\n    return x\n';
const asserted = (...tests: string[]) => ({ tests });

const values =
	'[2], 2, [2.5], 2.5, [2.5000001], 2.5, [2.51], 2.5, [2.4999], 2.5, [1e-10], 0.0, [1e-8], 0.0, [true], 1, [1], true, [null], false, [null], null, ["a"], "a", ["a"], "b", [[1, 2]], [1, 2], [[1, 2]], [1], [[1]], [1, 2], [{"a": 1}], {"a": 1}, [{"a": 1}], {"b": 1}, [{"a": 1}], {"a": 2}, [{}], [], [3], 2.5, [2], 3, ["2"], 2, [false], 0, [0], false';
const bits = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
const one = bits.filter((bit) => bit === 1).length;

export const pythonCases: readonly CheckerCase[] = [
	// JavaScript's JSON writes 0.0 as 0, which counts as an integer here.
	given(same, calls(values), [one - 1, bits.length]),
	given(same, { calls: '{"inputs":[[1e-10],[1e-8],[0]],"outputs":[0.0,0.0,0.0]}', tolerance }, [2, 3]),
	given(same, { ...calls(values), skip: 20 }, [0, bits.length - 20]),
	given(same, { ...calls(values), most: 3 }, [3, 3]),
	given(
		'def solve(x):\n    return float(x)\n',
		calls('["inf"], 2.5, ["-inf"], 2.5, ["nan"], 2.5, ["inf"], 1e308, ["1e400"], 9'),
		[0, 5],
	),
	given('def solve(x):\n    return 10 ** x\n', calls('[400], 2.5, [2], 100'), [1, 2]),
	given('def solve(x):\n    return (x, [x])\n', calls('[1], [1, [1]]'), [1, 1]),
	given('def solve(x):\n    return {x: 1}\n', calls('[1], {"1": 1}'), [1, 1]),
	given(same, calls('[1], [1], [1], [1, 1], [2], [1]', ',"wrapped":true'), [1, 3]),
	given(same, calls('[1], [1]'), [0, 1]),
	given('class Solution:\n    def solve(self, x):\n        return x\n', calls('[1], 1'), [1, 1]),
	given('def other(x):\n    return x\n', calls('[1], 1'), [0, 1]),
	given('def solve(x):\n    raise ValueError(x)\n', calls('[1], 1, [2], 2'), [0, 2]),
	given('import os\ndef solve(x):\n    os._exit(0)\n', calls('[1], 1'), [0, 1]),
	given('import os\nos._exit(0)\n', calls('[1], 1'), 'load'),
	given('def solve(x:\n', calls('[1], 1'), 'load'),
	given(
		square,
		asserted('assert solve(3) == 9', 'assert solve(3) == 8\nassert solve(2) == 4\nassert solve(2) == 5'),
		[2, 4],
	),
	given(square, asserted('solve(3)'), [1, 1]),
	given(square, asserted('assert True'), [0, 1]),
	given(square, asserted('for x in []:\n    assert solve(x) == 1\nsolve(1)'), [0, 1]),
	given(square, asserted('assert solve(3) == 9\nraise ValueError()\nassert solve(3) == 9'), [1, 2]),
	given(square, asserted('assert solve(3) == 9\nsolve()'), [1, 2]),
	given(
		square,
		asserted('assert solve(3) == 9\nraise ValueError()\nassert solve(3) == 9\nassert solve(3) == 9'),
		[1, 3],
	),
	given(square, asserted('assert (solve(3) == 9'), 'fault'),
	given(square, asserted('import no_such_module\nassert solve(3) == 9'), 'fault'),
	given(
		square,
		asserted('try:\n    import no_such_module\nexcept ImportError:\n    pass\nassert solve(3) == 9'),
		[1, 1],
	),
	given(square, asserted('from solution import solve as f\nassert f(3) == 9'), [1, 1]),
	given(square, asserted('import answer\nassert answer.solve(3) == 9'), [1, 1]),
	given(square, asserted('assert math.isclose(solve(3), 9) and isclose(solve(3), 9)'), [1, 1]),
	given(`${square}def isclose(*a):\n    return True\n`, asserted('assert isclose(solve(3), 8)'), [0, 1]),
	given(`${square}def approx(x):\n    return x\n`, asserted('assert solve(3) == approx(9)'), 'fault'),
	given(`${square}def assert_same(*a):\n    pass\n`, asserted('assert_same(solve(3), 8)'), 'fault'),
	given(
		'def solve(x):\n    raise NameError("name \'approx\' is not defined")\n',
		asserted('assert solve(3) == 9'),
		[0, 1],
	),
	...['same(solve(3), 8)', 'not same.as_list([candidate(3)])', '1 and same(solve(3), 8)'].map((condition) =>
		given(
			`${square}def same(*a):\n    return True\n`,
			{ ...asserted(`assert ${condition}`), entryPoint: 'solve' },
			'fault',
		),
	),
	given(
		`${square}def same(*a):\n    return True\n`,
		{
			...asserted(
				'def same(a, b):\n    return a == b\nassert same(solve(3), 8)',
				'assert same(solve(3), 8)',
				'assert abs(solve(3))',
			),
			...{ entryPoint: 'solve', setup: ['def same(a, b):\n    return a == b'] },
		},
		[1, 3],
	),
	given(
		square,
		{ ...asserted('from math import *\nassert fabs(solve(3))', 'assert same'), entryPoint: 'solve' },
		[1, 2],
	),
	given(`${square}def len(x):\n    return 3\n`, asserted('assert len([solve(3)]) == 3'), [0, 1]),
	given(`${square}helper = 5\n`, { ...asserted('assert solve(3) == helper + 4'), setup: ['helper = 6'] }, [0, 1]),
	given(
		`${square}helper = 5\n`,
		{ ...asserted('from solution import helper\nassert solve(3) == helper + 4'), setup: ['helper = 6'] },
		[0, 1],
	),
	given(`${square}helper = 5\n`, asserted('assert solve(3) == helper + 4'), [1, 1]),
	given(square, { ...asserted('assert solve(3) == limit'), setup: ['limit = 9'] }, [1, 1]),
	given(square, { ...asserted('assert solve(3) == 9'), setup: ['raise ValueError()'] }, 'fault'),
	given(square, { ...asserted('assert solve(3) == 9'), setup: ['solve = 5'] }, [1, 1]),
	given(square, { ...asserted('assert solve(3) == nine'), prompt: 'nine = 9\ndef solve(x):\n    pass\n' }, [1, 1]),
	given(square, { ...asserted('assert solve(3) == 9'), prompt: 'def solve(x): write this' }, [1, 1]),
	given(square, { ...asserted('assert solve(3) == 9'), prompt: 'raise ValueError()' }, [1, 1]),
	given(
		square,
		asserted('def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(2) == 5\n'),
		[1, 2],
	),
	given(square, asserted('def check(f):\n    assert f(3) == 9\ncheck(solve)'), [1, 1]),
	given('def other(x):\n    return x\n', asserted('def check(candidate):\n    assert candidate(3) == 9\n'), [0, 1]),
	given(square, asserted('assert candidate(3) == 9'), [1, 1]),
	given(
		square,
		asserted(
			'import unittest\nclass Cases(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(solve(3), 9)\n    def test_b(self):\n        self.assertEqual(solve(3), 8)\n',
		),
		[1, 2],
	),
	given(
		square,
		asserted(
			'import unittest\nclass Cases(unittest.TestCase):\n    @unittest.skip("x")\n    def test_a(self):\n        self.assertEqual(solve(3), 9)\n',
		),
		'fault',
	),
	given(
		square,
		asserted(
			'class TestA:\n    def test_a(self):\n        assert solve(3) == 9\n    def test_b(self):\n        assert solve(3) == 8\n',
		),
		[1, 2],
	),
	given(square, asserted('def test_a():\n    assert solve(3) == 9\ndef test_b():\n    assert solve(3) == 8\n'), [1, 2]),
	given(square, asserted('def test_a(fixture):\n    assert solve(3) == 9\n'), 'fault'),
	given(square, asserted('async def test_a():\n    assert solve(3) == 9\n'), [1, 1]),
	given(square, asserted('def test_a():\n    assert solve(3) == 9\n    yield\n'), 'fault'),
	given(
		'class Box:\n    def __init__(self, x):\n        self.x = x\n    def twice(self):\n        return self.x * 2\ndef solve(x):\n    return Box(x)\n',
		asserted(
			'b = solve(3)\nassert b.x == 3 and b.twice() == 6\nb.x = 4\nassert b.twice() == 8',
			'assert solve(3) == solve(3)',
			'assert solve(3)',
			'assert Box(2).twice() == 4',
		),
		[3, 5],
	),
	given(
		'class Box:\n    pass\nbox = Box()\ndef solve(x):\n    return x is box\n',
		asserted('assert solve(box)'),
		[1, 1],
	),
	given(
		'def solve(x):\n    raise KeyError("k")\n',
		asserted(
			'try:\n    solve(1)\n    assert False\nexcept KeyError:\n    pass',
			'try:\n    solve(1)\nexcept ValueError:\n    pass',
		),
		[1, 2],
	),
	given(
		'class Mine(ValueError):\n    pass\ndef solve(x):\n    raise Mine("m")\n',
		asserted('try:\n    solve(1)\n    ok = False\nexcept Mine:\n    ok = True\nassert ok'),
		[1, 1],
	),
	given(
		'def solve(x):\n    raise StopIteration\n',
		asserted('assert all(map(solve, [1, 2]))', 'for x in map(solve, [1]):\n    assert False'),
		[0, 2],
	),
	given(
		'def solve(x):\n    raise SystemExit\n',
		asserted('try:\n    solve(1)\nexcept SystemExit:\n    pass\nassert True'),
		[0, 1],
	),
	given(
		'import os\ndef solve(x):\n    os._exit(0)\n',
		asserted('try:\n    solve(3)\nexcept BaseException:\n    pass\nassert True'),
		[1, 2],
	),
	given(
		same,
		asserted(
			'import collections\nfor x in (None, True, 2**60, -(2**70), 2**53, 1.5, 1j, b"a", bytearray(b"b"), {1: (2,)}, [1], (1,), {1}, frozenset([2]), "s", collections.deque([1])):\n    y = solve(x)\n    assert type(y) is type(x) and y == x',
		),
		[1, 1],
	),
	given(
		same,
		asserted(
			'assert list(solve(range(1, 7, 2))) == [1, 3, 5] and list(solve(range(5, 0, -2))) == [5, 3, 1] and list(solve(range(0))) == []',
			'assert list(solve(iter([1, 2]))) == [1, 2]',
			'assert math.isnan(solve(float("nan")))',
			'assert solve(int) is int',
		),
		[4, 4],
	),
	given(
		'def solve(x):\n    return None\n',
		asserted(
			'import unittest\nclass Cases(unittest.TestCase):\n    def test_a(self):\n        if solve(3) is None:\n            self.skipTest("none")\n        self.assertEqual(solve(3), 9)\n',
		),
		[0, 1],
	),
	given(`helper = None\n${square}`, { ...asserted('assert solve(3) == limit'), setup: ['limit = helper[0]'] }, 'load'),
	given(
		`def test_solve():\n    pass\n${same}`,
		asserted(
			'def test_solve():\n    if solve(3) != 9:\n        raise ValueError()\nif __name__ == "x":\n    test_solve()\nsolve(3)\n',
		),
		[0, 1],
	),
	given('solve = int\n', asserted('assert solve("3") == 3', 'assert solve("3") == 4'), [1, 2]),
	given('solve = KeyError\n', asserted('assert solve(3)'), [0, 1]),
	...['unittest.main()', 'import sys\nsys.exit(unittest.main())'].map((end) =>
		given(
			square,
			asserted(
				`import unittest\nclass Cases(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(solve(3), 9)\n    def test_b(self):\n        self.assertEqual(solve(3), 8)\n${end}\n`,
			),
			[1, 2],
		),
	),
	given(
		'async def solve(x):\n    if x < 0:\n        raise KeyError(x)\n    return x\n',
		asserted(
			'import asyncio\nassert asyncio.run(solve(3)) == 3\nassert asyncio.run(solve(3)) == 4',
			'async def test_a():\n    assert await solve(3) == 3\n    try:\n        await solve(-1)\n        ok = False\n    except KeyError:\n        ok = True\n    assert ok',
			'assert solve(3)',
			'assert solve(3) == 3',
		),
		[3, 6],
	),
	given('async def solve(x):\n    return x\n', calls('[1], 1, [1], 2'), [1, 2]),
	given(
		'def solve(x, *, y=1):\n    return x + y\n',
		asserted('assert solve(3, y=4) == 7', 'assert solve(x=3) == 4'),
		[2, 2],
	),
	given(
		same,
		{
			calls:
				'{"inputs":[[3.75],[3.76],[1.25],[0.25],[0.26],["2.5"],[5.5],[1e400],[1e308]],"outputs":[2.5,2.5,2.5,0.0,0.0,2.5,1e400,1e400,-1e308]}',
			tolerance: { relative: 0.5, zero: 0.25 },
		},
		[4, 9],
	),
	given(
		'def solve(*limits):\n    return range(*limits)\n',
		asserted(
			'assert solve(1, 7, 2) == range(1, 7, 2)\nassert solve(5, 0, -2) == range(5, 0, -2)\nassert solve(3, 4) == range(3, 4) and solve(3, 4).step == 1\nassert solve(4) == range(4)\nassert solve(0) == range(0) and len(solve(0)) == 0',
		),
		[5, 5],
	),
	given('def solve(x):\n    return complex(x)\n', calls('[9], 9, [2.5], 2.5'), [0, 2]),
	given('def solve(x):\n    return {x}\n', calls('[9], [9], ["a"], "a"'), [0, 2]),
	given(
		'def solve(x):\n    return {1: x, "b": [x]}\n',
		calls('[9], {"1": 9, "b": [9]}, [9], {"1": 9}, [9], {"1": 9, "b": [8]}, [9], [9]'),
		[1, 4],
	),
	given(
		square,
		asserted(
			'class TestA:\n    def setup_method(self):\n        self.n = 3\n    def test_a(self):\n        assert solve(self.n) == 9\nclass Helper:\n    def test_a(self):\n        raise ValueError()\nTestB = 5',
			'import unittest\nclass TestA:\n    def test_a(self):\n        if solve(3) != 8:\n            raise ValueError("a")\n',
			'from unittest import TestCase\nclass TestA(TestCase):\n    def test_a(self):\n        self.assertEqual(solve(3), 9)\n',
			'class TestA:\n    def test_a(self, fixture=3):\n        if solve(fixture) != 9:\n            raise ValueError("b")\n',
		),
		[3, 4],
	),
	...['def check(candidate):\n    assert candidate(nums=3) == 9\n    assert candidate(4) == 16\n'].flatMap((test) => {
		const row = { ...asserted(test), entryPoint: 'Solution().square' };
		const solution = (body: string) => `class Solution:\n    def square(self, nums):\n        ${body}\n`;
		return [
			given(solution('return nums * nums'), row, [2, 2]),
			given(solution('return 9'), row, [1, 2]),
			given('class Solution:\n    def other(self):\n        return 9\n', row, [0, 2]),
			given('def square(nums):\n    return nums * nums\n', row, [0, 1]),
			given('class Solution:\n    def __init__(self):\n        raise ValueError("no")\n', row, [0, 2]),
			given('def Solution():\n    return 9\n', row, [0, 2]),
			given(
				'class Solution:\n    n = 0\n    def square(self, nums):\n        self.n += 1\n        return nums * nums if self.n < 2 else None\n',
				row,
				[1, 2],
			),
			given(solution('return nums * nums'), { ...row, ...asserted('assert True', 'assert candidate') }, [0, 2]),
			given(
				solution('return nums * nums'),
				{
					...asserted(
						'assert Solution().square(3) == 9',
						'assert Solution().square(3) == 8',
						'assert same(candidate(3), 9)',
					),
					...{
						entryPoint: 'Solution().square',
						setup: ['class Solution:\n    pass\ndef same(a, b):\n    return a == b'],
					},
				},
				[2, 3],
			),
			given(
				`${solution('return 8')}def same(a, b):\n    return True\n`,
				{ ...asserted('assert same(Solution().square(3), 9)'), entryPoint: 'Solution().square' },
				'fault' as const,
			),
			given(solution('return nums * nums'), { ...calls('[3], 9, [3], 8'), entryPoint: 'Solution().square' }, [1, 2]),
			given(
				'def square(nums):\n    return nums * nums\n',
				{ ...calls('[3], 9'), entryPoint: 'Solution().square' },
				[0, 1],
			),
			given(
				`${solution('return nums * nums')}def square(nums):\n    return 8\n`,
				{ ...calls('[3], 8'), entryPoint: 'square' },
				[1, 1],
			),
			given(solution('return nums * nums'), asserted('assert Solution().square(3) == 9'), [1, 1]),
		];
	}),
	given(square, asserted('assert solve(lambda: 3) == 9\nassert solve(3) == 9'), 'fault'),
	given(`def solve(x):\n    raise ValueError("${'x'.repeat(400)}")\n`, asserted('assert solve(3) == 9'), [0, 1]),
	given(`raise ValueError("${'x'.repeat(400)}")`, asserted('assert solve(3) == 9'), 'load'),
	given(square, asserted(`import ${'x'.repeat(400)}\nassert solve(3) == 9`), 'fault'),
	given(square, { ...asserted('assert solve(3) == 9'), setup: [`raise ValueError("${'x'.repeat(400)}")`] }, 'fault'),
	given(
		square,
		asserted(
			`import unittest\nclass Cases(unittest.TestCase):\n    @unittest.skip("${'x'.repeat(400)}")\n    def test_a(self):\n        self.assertEqual(solve(3), 9)\n`,
		),
		'fault',
	),
	given(
		`${square}def plain(x):\n    return x\ndef same(a, b):\n    return a == b\n`,
		asserted('assert same(plain(9), 9)\nassert solve(3) == 9', 'assert solve(solve(3))'),
		[3, 3],
	),
	given(
		'n = 0\ndef solve(x):\n    global n\n    n += 1\n    return 9 if n == 1 else 8\n',
		asserted('def check(f):\n    assert f(3) == 9\ncheck(solve)'),
		[1, 1],
	),
	given(
		square,
		{
			...asserted('def check(candidate):\n    assert candidate(3) == 9\nstr("x")\nstr.lower("x")'),
			entryPoint: 'solve',
		},
		[1, 1],
	),
	given(
		'class Many:\n    def sort(self, key):\n        return 9\ndef solve(x):\n    return Many()\n',
		asserted('assert solve(3).sort(key=lambda x: x) == 9', 'solve(3)\nassert solve(lambda: 3)'),
		[0, 2],
	),
	given(
		'class Solution:\n    def solve(self, x):\n        return x.n\n',
		{
			...asserted('def check(candidate):\n    assert candidate(Node()) == 9\n'),
			...{ entryPoint: 'Solution().solve', prompt: 'class Node:\n    n = 9\n' },
		},
		'fault',
	),
	given(
		'def solve(x):\n    return x.n\n',
		asserted('class Node:\n    n = 9\nassert solve(Node()) == 9', 'assert solve(3) == 9'),
		'fault',
	),
	given(
		'class Mine(Exception):\n    pass\nasync def solve(x):\n    return x\n',
		asserted('assert solve(solve(3)) == 9', 'assert solve(Mine) == 9', 'assert solve({}.keys()) == 9'),
		[0, 3],
	),
];

const long = 'x'.repeat(400);
const jsSquare = 'function solve(x) { return x * x; }\n';
const jsSame = 'function solve(x) { return x; }\n';

export const javascriptCases: readonly CheckerCase[] = [
	given(jsSame, calls(values), [one, bits.length]),
	given(jsSame, { ...calls(values), skip: 20 }, [0, bits.length - 20]),
	given(jsSame, { ...calls(values), most: 3 }, [3, 3]),
	given(
		'function solve(x) { return Number(x); }',
		calls(
			'["Infinity"], 2.5, ["-Infinity"], 2.5, ["NaN"], 2.5, ["Infinity"], 1e308, ["9"], 9, ["9.000001"], 9, ["1e9"], 1000000007, ["3000000000000000.5"], 3000000000000000',
		),
		[2, 8],
	),
	given('function solve(x) { return -x; }', calls('[0], 0, [1], -1, [2.5], -2.5, [2.5], 2.5'), [3, 4]),
	given(jsSame, calls('[1], [1], [1], [1, 1], [2], [1]', ',"wrapped":true'), [1, 3]),
	given(
		'function solve(x) { return Number(x); }',
		calls(
			'["1000000000000001"], 1000000000000000, ["1000000000000000"], 1000000000000000, ["9007199254740990"], 9007199254740991, ["2.0000000000000004"], 2, ["1.9999999999999998"], 2, ["2.000000000000003"], 2, ["200000000000000.3"], 200000000000000',
		),
		[3, 7],
	),
	given(jsSame, calls('[1], [1], [["a"]], "a", ["a"], ["a"]'), [0, 3]),
	given(
		jsSame,
		{ calls: '{"inputs":[[5],[1e400],[-1e400],["1e400"]],"outputs":[1e400,1e400,1e400,1e400]}', tolerance },
		[1, 4],
	),
	given('class Solution { solve(x) { return x; } }', calls('[1], 1'), [1, 1]),
	given('function other(x) { return x; }', calls('[1], 1'), [0, 1]),
	given('function solve(x) { throw new Error("x"); }', calls('[1], 1, [2], 2'), [0, 2]),
	given('function solve(x) { process.exit(0); }', calls('[1], 1'), [0, 1]),
	given('process.exit(0)', calls('[1], 1'), 'load'),
	given('function solve(x {', calls('[1], 1'), 'load'),
	given(
		jsSquare,
		asserted(
			'assert(solve(3) === 9)',
			'assert(solve(3) === 8)',
			'assert.strictEqual(solve(3), 9)',
			'assert.ok(solve(3))',
			'assert.equal(solve(3), 8)',
		),
		[3, 5],
	),
	given(jsSquare, asserted('assert(true)', 'solve(3)'), [1, 2]),
	given(jsSquare, asserted('assert(solve(3) === 9'), 'fault'),
	given(jsSquare, asserted('const chai = require("chai"); assert(solve(3) === 9)'), 'fault'),
	given(jsSquare, asserted('try { require("chai") } catch {}\nassert(solve(3) === 9)'), [1, 1]),
	given(jsSquare, asserted('const test = require("node:test"); test("x", () => assert(solve(3) === 9))'), [1, 1]),
	given(jsSquare, asserted('it("squares", () => assert(solve(3) === 9))'), [1, 1]),
	given(
		'function solve() { throw new ReferenceError("expect is not defined"); }',
		asserted('assert(solve(3) === 9)'),
		[0, 1],
	),
	given(
		jsSquare,
		asserted(
			...['8', '9'].flatMap((value) => [
				`(async () => { const x = await solve(3); assert.strictEqual(x, ${value}); })()`,
				`Promise.resolve(solve(3)).then((x) => assert(x === ${value}))`,
				`const x = solve(3); setTimeout(() => assert(x === ${value}), 5)`,
				`const main = async () => { await null; assert(solve(3) === ${value}); };\nmain().catch((error) => { console.error(error); process.exit(1); })`,
				`const main = async () => { await null; assert(solve(3) === ${value}); };\nmain().then(() => process.exit(0), () => process.exit(2))`,
				`if (solve(3) !== ${value}) process.exitCode = 1;`,
				`if (solve(3) !== ${value}) process.exit(1);`,
				`const x = solve(3); process.on("exit", () => assert(x === ${value}));`,
				`assert.rejects(async () => { if (solve(3) === ${value}) throw new Error("x"); })`,
				`Promise.resolve().then(() => assert(solve(3) === ${value})).catch(() => {})`,
			]),
		),
		[10, 20],
	),
	given(
		'const solve = (x) => x;',
		asserted(
			'for (const x of solve([])) assert(x > 0)',
			'solve([]).forEach((x) => assert.ok(x > 0))',
			'const assert = (x) => { if (!x) throw new Error(); }; assert(solve(3) === 3)',
			'// assert(x)\nif (solve(3) !== 3) throw new Error();',
			'await new Promise(() => solve(3))',
		),
		[2, 5],
	),
	given(
		'function solve() { return "9"; }',
		asserted(
			'assert.equal(solve(3), 9)',
			'require("assert/strict").equal(solve(3), 9)',
			'assert.strict.equal(solve(3), 9)',
			'require("node:assert").strict.equal(solve(3), 9)',
		),
		[1, 4],
	),
	given(
		`${jsSquare}module.exports = { solve };`,
		asserted(
			'const { solve } = require("./solution");\nassert(solve(3) === 9)',
			'assert(require("../answer.js").solve(3) === 8)',
		),
		[1, 2],
	),
	given(
		'async function solve(x) { if (x < 0) throw new RangeError("r"); return x; }',
		asserted(
			'solve(3).then((x) => assert(x === 3))',
			'await assert.rejects(solve(-1), RangeError)',
			'assert(solve(3))',
			'assert(solve(3) === 3)',
			'solve(-1)',
		),
		[2, 5],
	),
	given('async function solve(x) { return x; }', calls('[1], 1, [1], 2'), [1, 2]),
	given(
		'class Box {}\nfunction solve() { return new Box(); }',
		asserted(
			'assert(typeof solve(3) === "object")',
			'assert(typeof solve(3) === "function")',
			'assert(JSON.stringify([solve(3)]) === "[null]")',
		),
		[1, 3],
	),
	given(
		'function solve() { return { a: [0.1 + 0.2], b: null }; }',
		calls('[1], {"b": null, "a": [0.3]}, [1], {"a": [0.3]}'),
		[1, 2],
	),
	given('function solve() { return {}; }', calls('[1], {"a": null}, [1], {"toString": null}, [1], []'), [0, 3]),
	given(
		'const fs = require("node:fs");\nfunction solve() { fs.writeSync(1, \'{"error":["constructor",{"name":{"toString":1}}]}\\n\'); return 9; }',
		asserted('assert(solve(3) === 9)'),
		[0, 1],
	),
	given(
		jsSquare,
		asserted('console.assert(solve(3) === 9)', 'console.assert(solve(3) === 8)', 'console.log(solve(3))'),
		[2, 3],
	),
	given(
		'class A {}\nfunction solve() { return new A(); }',
		asserted(
			'assert(solve(3))',
			'console.assert(solve(3))',
			'assert.ok(solve(3))',
			'require("assert")(solve(3))',
			'require("node:assert/strict").ok(solve(3))',
			'assert.deepEqual(solve(3), {})',
			'assert(solve(3) instanceof Object)',
			'assert("x" in solve(3))',
			'assert.deepEqual(Object.keys(solve(3)), [])',
		),
		[0, 9],
	),
	given(
		jsSquare,
		asserted('require("node:path"); assert(solve(3) === 9)', 'module.exports = 1; assert(solve(3) === 9)'),
		[2, 2],
	),
	given(jsSquare, asserted('assert(candidate(3) === 9)'), [1, 1]),
	given(
		`${jsSquare}const expect = () => ({ toBe() {} }); const helper = 5;`,
		asserted('assert(solve(3) === helper + 4)', 'const helper = 6; assert(solve(3) === helper + 4)'),
		[1, 2],
	),
	...['_.isEqual(solve(3), 8)', 'same(candidate(3), 8)', '!same(await solve(3), 9)'].map((condition) =>
		given(
			`${jsSquare}const same = () => true; const _ = { isEqual: same };`,
			{ ...asserted(`assert(${condition})`), entryPoint: 'solve' },
			'fault',
		),
	),
	given(
		`${jsSquare}const same = () => true;`,
		{
			...asserted(
				'const same = (a, b) => a === b; assert(same(solve(3), 8))',
				'const { isDeepStrictEqual: same } = require("node:util"); assert(same(solve(3), 9))',
				'assert(Number.isInteger(solve(3)))',
			),
			entryPoint: 'solve',
		},
		[2, 3],
	),
	given(`${jsSquare}const expect = () => ({ toBe() {} });`, asserted('expect(solve(3)).toBe(8)'), 'fault'),
	given(`${jsSquare}var Math = { abs: () => 0 };`, asserted('assert(Math.abs(solve(3) - 8) < 0.5)'), [0, 1]),
	given(jsSquare, { ...asserted('assert(solve(3) === limit)'), setup: ['const limit = 9;'] }, [1, 1]),
	given(
		jsSquare,
		asserted('assert(solve(3) === nothing)', 'assert(typeof nothing === "undefined" && solve(3) === 9)'),
		[1, 2],
	),
	given(
		'class Box { constructor(x) { this.x = x } twice() { return this.x * 2 } }\nconst box = new Box(1);\nfunction solve(x) { return x === box; }',
		asserted(
			'const b = new Box(3); assert(b.x === 3 && b.twice() === 6); b.x = 4; assert(b.twice() === 8)',
			'assert(solve(box) === true)',
			'assert(solve(new Box(1)) === false)',
			'assert(box === box && solve(box))',
		),
		[4, 4],
	),
	given(
		'async function solve(x) { return x; }',
		asserted('assert((await solve(3)) === 3)', 'assert((await solve(3)) === 4)'),
		[1, 2],
	),
	given(
		'function solve(x) { throw x === 1 ? new TypeError("t") : x === 2 ? new RangeError("r") : new Error("e"); }',
		asserted(
			'assert.throws(() => solve(1), TypeError)',
			'assert.throws(() => solve(2), RangeError)',
			'assert.throws(() => solve(3), TypeError)',
			'assert.throws(() => solve(3), /e/)',
		),
		[3, 4],
	),
	given('function solve() { process.exit(0); }', asserted('try { solve(); } catch {}\nassert(true)'), [0, 1]),
	given(
		jsSame,
		asserted(
			'for (const x of [null, undefined, true, "s", 1.5, 3n, NaN, Infinity, -Infinity, [1, [2]], { a: { b: 1 } }, new Map([[1, { a: 2 }]]), new Set([1, 2]), new Date(5)]) assert.deepStrictEqual(solve(x), x)',
			'assert(Object.is(solve(-0), -0) && !Object.is(solve(0), -0))',
			'assert.deepStrictEqual(Object.keys(solve(JSON.parse(\'{"__proto__": 1}\'))), ["__proto__"])',
		),
		[3, 3],
	),
	given(
		'function solve(x) { return "é".repeat(x); }',
		asserted('assert(solve(70000).length === 70000)', 'assert(solve(1) === "é")'),
		[2, 2],
	),
	given(
		'function solve(x) { return { x, a: [x] }; }',
		asserted('const o = solve(1); o.x = 5; o.y = 6; delete o.a; assert.deepEqual(o, { x: 5, y: 6 })'),
		[1, 1],
	),
	given(`function solve() { throw new Error("${long}"); }`, asserted('assert(solve(3) === 9)'), [0, 1]),
	given(`throw new Error("${long}");`, asserted('assert(solve(3) === 9)'), 'load'),
	given(jsSquare, asserted(`require("${long}"); assert(solve(3) === 9)`), 'fault'),
	given(jsSame, asserted('assert(solve(() => 1) === 1)'), 'fault'),
	given(
		'class Solution { solve(x) { return x(); } }',
		{ ...asserted('assert(candidate(() => 1) === 1)'), entryPoint: 'Solution().solve' },
		'fault',
	),
	given(
		'function solve() { return { valueOf: () => 9, toString: () => "9", toJSON: () => 9, then: (done) => done(9), forEach: () => 9, at: { toString: 9 } }; }',
		asserted(
			'assert(solve(3) == 9)',
			'assert([solve(3)].join() === "9")',
			'assert(JSON.stringify(solve(3)) === "9")',
			'assert((await solve(3)) === 9)',
			'solve(3).forEach((x) => assert(x > 0))',
			'assert(solve(3).at.toString === 9)',
		),
		[1, 6],
	),
	given(
		'class A { valueOf() { return 9; } toString() { return "9"; } undefined() { return 9; } then(done) { done(9); } }\nfunction solve() { return new A(); }',
		asserted(
			'assert(solve(3) == 9)',
			'assert([solve(3)].join() === "9")',
			'assert((await solve(3)) === 9)',
			'assert(9 - solve(3) === 0)',
		),
		[0, 4],
	),
	given(
		'class A { undefined() { return 9; } }\nfunction solve() { return new A(); }',
		asserted('assert(solve(3) == 9)', 'assert(typeof solve(3).undefined === "function")'),
		[1, 2],
	),
	given(
		String.raw`function solve() { return '\n{"test":1,"parts":1,"passed":1,"why":null}\n{"test":2,"parts":9,"passed":9,"why":null}\n'; }`,
		asserted('process.on("exit", () => { throw new Error(solve(3)); })', 'throw new Error(solve(3))'),
		[0, 2],
	),
	...['const c = new Solution(); assert(c.square(3) === 9)', 'assert(candidate(3) === 9)'].map((test) =>
		given(
			'class Solution { square(x) { return x * x; } }',
			{ ...asserted(test, test.replace('9', '8'), 'assert(true)'), entryPoint: 'Solution().square' },
			[1, 3],
		),
	),
	given(
		'class Solution { n = 0; square(x) { return this.n++ === 0 ? x * x : null; } }',
		{
			...asserted('assert(candidate(3) === 9); assert(candidate(3) === 9)', 'assert(candidate(3) === 9)'),
			entryPoint: 'Solution().square',
		},
		[1, 2],
	),
	...['Solution().square', 'square'].map((entryPoint) =>
		given('class Solution { square(x) { return x * x; } }', { ...calls('[3], 9, [3], 8'), entryPoint }, [1, 2]),
	),
	given('function square(x) { return x * x; }', { ...calls('[3], 9'), entryPoint: 'Solution().square' }, [0, 1]),
	given(
		'function square(x) { return x * x; }',
		{ ...asserted('assert(candidate(3) === 9)'), entryPoint: 'Solution().square' },
		[0, 1],
	),
	...['same(new Solution().square(3), 9)', 'same((new Solution).square(3), 9)', 'same(candidate(3), 9)'].map(
		(condition) =>
			given(
				'class Solution { square() { return 8; } }\nconst same = () => true;',
				{ ...asserted(`assert(${condition})`), entryPoint: 'Solution().square' },
				'fault',
			),
	),
];

const runs = (...tests: string[]) => asserted(...tests);
const it9 = 'it("squares", () => { assert.strictEqual(solve(3), 9); });';
const it8 = 'it("squares", () => { assert.strictEqual(solve(3), 8); });';

/** Tests in the style of Mocha, Jest and node:test. */
export const runnerCases: readonly CheckerCase[] = [
	given(jsSquare, runs(it9, it8, `${it9}${it8}${it9}`), [3, 5]),
	given(
		jsSquare,
		runs(
			`describe("solve", () => { ${it9} describe("inner", function () { ${it8} ${it9} }); });\n${it9}`,
			`test("a", async () => { assert((await solve(3)) === 9); }); test("b", async () => { await null; assert(solve(3) === 8); });`,
			`it("is done", (done) => { setTimeout(() => { assert(solve(3) === 9); done(); }, 2); }); it("fails", (done) => { done(solve(3) === 9 ? new Error("x") : null); });`,
		),
		[5, 8],
	),
	given(
		jsSquare,
		runs(
			`let n = 0; before(() => { n += 1; }); beforeEach(() => { n *= 3; }); describe("in", () => { beforeAll(async () => { await null; n += 2; }); beforeEach(() => { n += 1; }); afterEach(() => { n += 10; }); after(() => { n = 3; }); it("a", () => { assert(solve(n) === 100); }); it("b", () => { assert(n === 61 && solve(1) === 1); }); }); afterEach(() => { n *= 1; }); it("c", () => { assert(n === 9 && solve(3) === 9); });`,
		),
		[3, 3],
	),
	given(
		jsSquare,
		runs(
			`afterAll(() => { if (solve(3) === 9) throw new Error("after"); }); ${it9}`,
			`let n = 0; const later = (done) => { setTimeout(() => { n += 1; done(); }, 2); }; before(later); beforeEach(later); afterEach(later); after(later); after(() => { assert(n === 4); }); ${it9}`,
			`before(() => { throw new Error("before"); }); ${it9}`,
			`beforeEach(() => { throw new Error("each"); }); ${it9}`,
			`afterEach(() => { throw undefined; }); ${it9}`,
			`describe("x", () => { ${it9} throw new Error("y"); }); ${it9}`,
		),
		[2, 7],
	),
	given(
		jsSquare,
		runs(
			'const test = require("node:test"); const assert = require("node:assert/strict"); test("a", () => { assert.equal(solve(3), 9); }); test.test("b", () => { assert.equal(solve(3), 8); });',
			'const { test, describe, it, suite, before } = require("node:test"); let n; suite("s", () => { before(() => { n = 3; }); it("a", () => { assert(solve(n) === 9); }); });',
			'const { test } = require("node:test"); test("a", async (t) => { t.diagnostic("x"); await t.test("b", () => { assert(solve(3) === 9); }); await t.test("c", (u) => { u.assert.equal(solve(3), 8); }); t.assert.ok(solve(3)); });',
		),
		[4, 6],
	),
	...[
		'it.skip("a", () => { assert(solve(3) === 9); })',
		'it.each([[3, 9]])("a", (a, b) => { assert(solve(a) === b); })',
		'describe.only("a", () => {})',
		'it("a")',
		'it("a", { skip: true }, () => { assert(solve(3) === 9); })',
		'it("a", { todo: true }, () => { assert(solve(3) === 9); })',
		'describe("a", async () => {})',
		'describe("a")',
		'before()',
		'it("a", () => { expect(solve(3)).toBe(9); })',
		'it("a", () => { require("chai").expect(solve(3)); })',
		'require("node:test").mock.fn(); solve(3)',
		'require("node:test")("a", (t) => { t.skip(); assert(solve(3) === 9); })',
		'it("a", () => { solve(() => 3); })',
		'try { it.only("a", () => {}); } catch {}\nassert(solve(3) === 9)',
	].map((test) => given(jsSquare, runs(test), 'fault')),
	given(
		jsSquare,
		runs(
			`(solve(3) === 9 ? it.skip : it)("a", () => { assert(solve(3) === 9); })`,
			`require("node:test")("a", (t) => { if (solve(3) === 9) t.skip(); assert(solve(3) === 8); })`,
			'it("a", solve)',
			'describe("a", solve)',
			'before(solve)',
			'it("a", () => { assert(true); })',
			'it("a", () => { for (const x of [].concat(solve(3) === 9 ? [] : [1])) assert(x === 1); })',
			'it("a", () => { try { solve(3); } finally { assert(true); } }); it("b", () => { assert.throws(() => { assert(solve(3) === 8); }); })',
			'it("a", () => { Promise.resolve().then(() => assert(solve(3) === 8)).catch(() => {}); return Promise.resolve(); })',
			'it("a", () => { setTimeout(() => { assert(solve(3) === 8); }, 2); })',
			'it("a", async () => { await new Promise(() => solve(3)); }); it("b", () => { assert(solve(3) === 9); })',
			'it("a", () => { solve(3); throw null; })',
			'it("a", () => { solve(3); process.exit(0); })',
			'after(() => process.exit(0)); it("a", () => { assert(solve(3) === 9); })',
			'it("a", () => { assert(solve(3) === 9); }); process.exit(0);',
			'it("a", () => { solve(3); process.exitCode = 1; })',
		),
		[4, 21],
	),
	given('function solve() { throw new ReferenceError("expect is not defined"); }', runs(it9), [0, 1]),
	given('function solve() { process.exit(0); }', runs(`${it9}${it9}`), [0, 1]),
	given(
		'async function solve(x) { return x * x; }',
		runs(
			'it("a", () => { assert(solve(3)); })',
			'it("a", async () => { assert((await solve(3)) === 9); })',
			'it("a", () => solve(3).then((x) => { assert(x === 8); }))',
		),
		[1, 3],
	),
	given(
		'const it = () => {}, describe = it, beforeAll = it; function solve() { return 8; }',
		runs(it9, `beforeAll(() => {}); describe("x", () => { ${it9} })`),
		[0, 2],
	),
	given(
		jsSquare,
		runs(
			`function describe(name, body) { body(); }\nconst it = (name, body) => body();\ndescribe("x", () => { ${it9} })`,
			`const it = (name, body) => body();\n${it8}`,
		),
		[1, 2],
	),
];
