import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import type { RewardEntry } from '../../../src/protocol/recipeKeys/builtInRewards.ts';
import { createCodeTests } from '../../../src/rewards/codeTests.ts';
import { readCodeTests } from '../../../src/rewards/codeTestsCases.ts';
import { runCodeTests } from '../../../src/rewards/codeTestsRun.ts';
import { testSandbox } from './sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();

const entry: RewardEntry<'code-tests'> = {
	use: 'code-tests',
	name: 'tests',
	weight: 1,
	mode: 'all',
	language: 'python',
	timeoutSeconds: 5,
	memoryMb: 128,
};

async function score(
	code: string,
	row: Record<string, unknown>,
	options: Partial<RewardEntry<'code-tests'>> = {},
): Promise<number | null> {
	const spec = { ...entry, ...options };
	const reward = createCodeTests(spec, async () => sandbox);
	const completion = `<think>t</think><answer>\`\`\`${spec.language}\n${code}\n\`\`\`</answer>`;
	const sample = { prompt: 'p', completion, answer: null, row, truncated: false, trace: parseTrace(completion) };
	return reward.score(sample, new AbortController().signal);
}

const js = { language: 'javascript' } as const;
const fraction = { mode: 'fraction' } as const;

describe('code tests: correct and incorrect answers', { skip, concurrency: 2 }, () => {
	const add = { tests: ['assert add(1, 2) == 3', 'assert add(2, 2) == 4', 'assert add(-1, 1) == 0'] };

	it('a correct answer passes and an incorrect one fails', async () => {
		assert.equal(await score('def add(a, b):\n    return a + b', add), 1);
		assert.equal(await score('def add(a, b):\n    return 3', add), 0);
		assert.equal(await score('def add(a, b) return', add), 0);
		assert.equal(await score('def other(a, b):\n    return a + b', add), 0);
	});

	it('the value is the fraction of passed tests on request', async () => {
		assert.equal(await score('def add(a, b):\n    return 3', add, fraction), 1 / 3);
		assert.equal(await score('def add(a, b):\n    return abs(a) + b', add, fraction), 2 / 3);
		assert.equal(await score('x = 1', add, fraction), 0);
	});

	it('a row without tests has no value, and an answer without code scores 0', async () => {
		assert.equal(await score('def add(a, b):\n    return a + b', {}), null);
		assert.equal(await score('', add), 0);
	});

	it('HumanEval: each assertion in check counts, and the row may define helpers', async () => {
		const row = {
			entry_point: 'root',
			prompt:
				'import math\n\n\ndef poly(xs, x):\n    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n\n\ndef root(xs):\n    """A root."""\n',
			test: 'METADATA = {}\n\n\ndef check(candidate):\n    import math\n    for xs in ([1, 2], [-6, 1]):\n        assert math.fabs(poly(xs, candidate(xs))) < 1e-4\n    assert candidate([2, 1]) == -2\n',
		};
		assert.equal(await score('def root(xs):\n    return -xs[0] / xs[1]', row), 1);
		assert.equal(await score('def root(xs):\n    return -2', row, fraction), 0.5);
		// The row's helper takes precedence.
		assert.equal(await score('def poly(xs, x):\n    return 0\n\ndef root(xs):\n    return -2', row), 0);
	});

	it('programs: input and output, with a fresh process per test', async () => {
		const row = { input_output: JSON.stringify({ inputs: ['1 2\n', '3 4\n'], outputs: ['3\n', '7\n'] }) };
		assert.equal(await score('a, b = map(int, input().split())\nprint(a + b)', row), 1);
		assert.equal(await score('print(3)', row, fraction), 0.5);
		assert.equal(await score('print(3)\nraise SystemExit(1)', row, fraction), 0);
		assert.equal(
			await score(
				"const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number);\nconsole.log(a + b)",
				row,
				js,
			),
			1,
		);
	});

	it('calls: values are compared as JSON, for functions and methods of Solution', async () => {
		const row = { input_output: JSON.stringify({ fn_name: 'f', inputs: [[[3, 1]], [[2]]], outputs: [[1, 3], [[2]]] }) };
		assert.equal(await score('def f(a):\n    return tuple(sorted(a))', row), 1);
		assert.equal(await score('class Solution:\n    def f(self, a):\n        return sorted(a)', row), 1);
		assert.equal(await score('class Solution { f(a) { return [...a].sort(); } }', row, js), 1);
		assert.equal(await score('def f(a):\n    return a', row, fraction), 0.5);
		const big = {
			input_output: '{"fn_name": "f", "inputs": [[12345678901234567890]], "outputs": [12345678901234567891]}',
		};
		assert.equal(await score('def f(a):\n    return a + 1', big), 1);
		assert.equal(await score('def f(a):\n    return a', big), 0);
		const truth = { input_output: '{"fn_name": "f", "inputs": [[1]], "outputs": [true]}' };
		assert.equal(await score('def f(a):\n    return a == 1', truth), 1);
		assert.equal(await score('def f(a):\n    return 1', truth), 0);
	});

	it('values of every plain type are transferred without loss', async () => {
		const values = [
			'None',
			'True',
			'-5',
			'2**70',
			'1.5',
			'float("inf")',
			'"äöü\\n"',
			'b"x\\x00"',
			'[1, [2, "a"]]',
			'(1, (2,))',
			'{1, 2}',
			'frozenset({3})',
			'{1: "a", (2, 3): [None]}',
			'1 + 2j',
			'range(2, 9, 3)',
			'__import__("collections").deque([1, 2])',
		];
		const tests = values.flatMap((value) => [
			`assert f(${value}) == ${value}`,
			`assert type(f(${value})) is type(${value})`,
		]);
		const named = await runCodeTests(
			sandbox,
			'def f(x):\n    return range(2, 9, 3) if isinstance(x, list) and x == [2, 5, 8] else x',
			{
				kind: 'asserts',
				tests,
				setup: [],
				prompt: null,
				entryPoint: null,
			},
			{ language: 'python', timeoutSeconds: 10, memoryMb: 128, stopAtFailure: false },
		);
		assert.deepEqual([named.passed, named.total, named.why], [tests.length, tests.length, null]);
	});

	it('objects from the answer can be created, used and passed on', async () => {
		const row = {
			test_setup_code: 'root = Node(1)\nroot.left = Node(2)',
			test_list: [
				'assert total(root) == 3',
				'assert root.left.value == 2',
				'assert Node(4).double() == 8',
				'assert [*count(3)] == [0, 1, 2]',
			],
		};
		const code = [
			'class Node:',
			'    def __init__(self, value):',
			'        self.value, self.left = value, None',
			'    def double(self):',
			'        return 2 * self.value',
			'def total(node):',
			'    return 0 if node is None else node.value + total(node.left)',
			'def count(n):',
			'    yield from range(n)',
		].join('\n');
		assert.equal(await score(code, row), 1);
	});

	it('expected errors are matched by type, whether built in or defined by the answer', async () => {
		const tests = [
			'try:\n    f(0)\n    assert False\nexcept ValueError as error:\n    assert str(error) == "zero"',
			'try:\n    f(1)\n    assert False\nexcept Own:\n    pass',
			'try:\n    f(2)\n    assert False\nexcept LookupError:\n    pass',
		];
		const code = [
			'class Own(Exception): pass',
			'def f(x):',
			'    if x == 0: raise ValueError("zero")',
			'    if x == 1: raise Own()',
			'    raise KeyError(x)',
		].join('\n');
		assert.equal(await score(code, { tests }), 1);
		assert.equal(await score('def f(x):\n    pass', { tests }, fraction), 0);
	});

	it('pytest and unittest tests work, as do libraries that tests use by name', async () => {
		assert.equal(
			await score('def f(x):\n    return x', {
				tests:
					'from solution import f\n\ndef test_one():\n    assert f(1) == 1\n\ndef test_two():\n    assert f(2) == 2',
			}),
			1,
		);
		const cases =
			'import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 1)\n    def test_b(self):\n        self.assertEqual(f(2), 2)';
		assert.equal(await score('def f(x):\n    return 1', { tests: cases }, fraction), 0.5);
		assert.equal(
			await score('import math\ndef f(x):\n    return x / 3', { tests: ['assert math.isclose(f(1), 1 / 3)'] }),
			1,
		);
		const awaited = { tests: ['import asyncio\nassert asyncio.run(f(1)) == 1'] };
		assert.equal(await score('async def f(x):\n    return x', awaited), 1);
		assert.equal(await score('async def f(x):\n    return 2', awaited), 0);
		// A coroutine that is not awaited never compares equal.
		assert.equal(await score('async def f(x):\n    return x', { tests: ['assert f(1) == 1'] }), 0);
	});

	it('JavaScript: asserts, constants, classes, modules, promises', async () => {
		const tests = [
			'assert.deepStrictEqual(f([1, 2]), { sum: 3n })',
			'const it = new Box(2); it.value = 4; assert(it.twice() === 8)',
		];
		const code =
			'const f = (a) => ({ sum: BigInt(a[0] + a[1]) });\nclass Box { constructor(v) { this.value = v } twice() { return this.value * 2 } }';
		assert.equal(await score(code, { tests }, js), 1);
		assert.equal(await score(`${code.replace(/^const f/m, 'export const f')}`, { tests }, js), 1);
		assert.equal(await score('module.exports = { g: (x) => x + 1 }', { tests: ['assert(g(1) === 2)'] }, js), 1);
		assert.equal(
			await score('async function g(x) { return x + 1 }', { tests: ['assert.equal(await g(1), 2)'] }, js),
			1,
		);
		assert.equal(
			await score(
				'function g() { return 0 }',
				{ tests: ['assert(g(1) === 0)', 'assert(g(2) === 1)'] },
				{ ...js, ...fraction },
			),
			0.5,
		);
	});

	it('an answer that exits during one test is restarted for the next', async () => {
		const code = 'import os\ndef add(a, b):\n    if a == 2: os._exit(0)\n    return a + b';
		assert.equal(await score(code, add, fraction), 2 / 3);
	});

	it('time, memory, processes and output are limited, and exceeding a limit is a wrong answer rather than an error', async () => {
		const answers = [
			'def add(a, b):\n    while True: pass',
			'import time\ndef add(a, b):\n    time.sleep(60)',
			'while True: pass',
			'def add(a, b):\n    return [0] * 10**10',
			'import os\ndef add(a, b):\n    for _ in range(100): os.fork()\n    return a + b',
			'def add(a, b):\n    return "x" * 10**8',
		];
		const values = [];
		for (const code of answers)
			values.push(await score(code, { tests: ['assert add(1, 2) == 3'] }, { timeoutSeconds: 1 }));
		assert.deepEqual(
			values,
			answers.map(() => 0),
		);
		assert.equal(await score('while True: print("x" * 1000)', { tests: [{ input: '', output: 'x' }] }), 0);
	});

	it('the same answer gets the same value in every run', async () => {
		const code = 'print(list({str(i) for i in range(20)}))';
		const { stdout } = await sandbox.run({ program: 'python', args: ['-c', code] });
		for (let i = 0; i < 3; i++) assert.equal(await score(code, { tests: [{ input: '', output: stdout }] }), 1);
	});

	it('can be canceled', async () => {
		const abort = new AbortController();
		const tests = readCodeTests(add);
		assert.ok(tests);
		const running = runCodeTests(
			sandbox,
			'while True: pass',
			tests,
			{ language: 'python', timeoutSeconds: 30, memoryMb: 128, stopAtFailure: true },
			abort.signal,
		);
		setTimeout(() => abort.abort(), 200);
		await assert.rejects(running, { reason: 'cancelled' });
	});
});

describe('code tests without a sandbox', () => {
	it('give an error with an action instead of 0', async () => {
		let tries = 0;
		const reward = createCodeTests(entry, async () => {
			tries++;
			throw new Failure('unavailable', 'Code is not run.', 'Install it.');
		});
		const completion = '```python\nx = 1\n```';
		const row = { tests: ['assert x == 1'] };
		const sample = { prompt: '', completion, answer: null, row, truncated: false, trace: parseTrace(completion) };
		const { signal } = new AbortController();
		for (let i = 0; i < 2; i++)
			await assert.rejects(async () => reward.score(sample, signal), { reason: 'unavailable' });
		// The sandbox could have been installed in the meantime.
		assert.equal(tries, 2);
		assert.equal(await reward.score({ ...sample, row: {} }, signal), null);
	});
});
