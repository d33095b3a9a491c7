import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { type CheckedAnswer, checkAnswer } from '../support/checkedAnswer.ts';

/*
 * Checks rows with pytest tests by running the checker's own program with the real pytest. It runs outside the sandbox,
 * because the sandbox's Python (the system's) may not have pytest.
 */

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

/** Bytecode cache for all checkers in this file, because the environment has none. */
const compiled = await mkdtemp(join(tmpdir(), 'pytest-compiled-'));
after(() => rm(compiled, { recursive: true, force: true }));

async function check(context: TestContext, answer: string, tests: string): Promise<CheckedAnswer> {
	const folder = await mkdtemp(join(tmpdir(), 'pytest-rows-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const environment = { PYTHONPYCACHEPREFIX: compiled };
	const verdict = await checkAnswer(answer, { tests: [tests] }, { folder, python, environment });
	assert.ok(verdict.parts > 0 || verdict.fault !== null, 'the checker reported nothing');
	return verdict;
}

const right = 'def solve(x):\n    return x * x\n';
const wrong = 'def solve(x):\n    return x + x\n';

/** Pytest test files by form, with the number of tests that each collects. */
const forms: Readonly<Record<string, readonly [tests: string, count: number]>> = {
	'a function': ['def test_three():\n    assert solve(3) == 9\n', 1],
	'a class': [
		'class TestSolve:\n    def test_three(self):\n        assert solve(3) == 9\n    def test_five(self):\n        assert solve(5) == 25\n',
		2,
	],
	'a fixture': [
		'import pytest\n@pytest.fixture\ndef three():\n    return 3\ndef test_three(three):\n    assert solve(three) == 9\n',
		1,
	],
	'a fixture that yields': [
		'import pytest\n@pytest.fixture\ndef three():\n    yield 3\ndef test_three(three):\n    assert solve(three) == 9\n',
		1,
	],
	parameters: [
		'import pytest\n@pytest.mark.parametrize("x, y", [(3, 9), (4, 16), (5, 25)])\ndef test_all(x, y):\n    assert solve(x) == y\n',
		3,
	],
	'an async test': ['async def test_three():\n    assert solve(3) == 9\n', 1],
	approx: ['import pytest\ndef test_three():\n    assert solve(3) == pytest.approx(9)\n', 1],
	'the solution module': ['from solution import solve as square\ndef test_three():\n    assert square(3) == 9\n', 1],
	'temporary files': [
		'def test_three(tmp_path):\n    (tmp_path / "a").write_text(str(solve(3)))\n    assert (tmp_path / "a").read_text() == "9"\n',
		1,
	],
	'a runner at the end': [
		'import pytest, sys\ndef test_three():\n    assert solve(3) == 9\nsys.exit(pytest.main())\n',
		1,
	],
	'a unittest class': [
		'import unittest\nclass TestSolve(unittest.TestCase):\n    def test_three(self):\n        self.assertEqual(solve(3), 9)\n',
		1,
	],
	'class setup': [
		'class TestSolve:\n    @classmethod\n    def setup_class(cls):\n        cls.x = 3\n    def test_three(self):\n        assert solve(self.x) == 9\n',
		1,
	],
};

test('all forms: collected tests run and pass only for the correct answer', { skip }, async (context) => {
	// Combine all forms into one file, because a separate pytest run for each would take a minute.
	const file = Object.values(forms)
		.map(([tests], i) => tests.replace(/\b(test_\w+|TestSolve|three)\b/g, `$1_${i}`))
		.join('\n');
	const count = Object.values(forms).reduce((sum, [, tests]) => sum + tests, 0);
	for (const [answer, passing] of [
		[right, count],
		[wrong, 0],
	] as const) {
		const { passed, parts, fault } = await check(context, answer, file);
		assert.deepEqual([passed, parts, fault], [passing, count, null]);
	}
	const ended = await check(context, 'import os\ndef solve(x):\n    os._exit(0)\n', file);
	assert.ok(ended.passed < ended.parts, JSON.stringify(ended));
});

test('tests that pytest skips, does not find or does not run are row errors', { skip }, async (context) => {
	for (const [name, tests, words] of [
		[
			'skip',
			'import pytest\n@pytest.mark.skip\ndef test_a():\n    assert solve(3) == 9\ndef test_b():\n    assert solve(3) == 9\n',
			/skipped/,
		],
		['xfail', 'import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert solve(3) == 10\n', /skipped/],
		['an unknown fixture', 'def test_a(three):\n    assert solve(three) == 9\n', /three, which is not a fixture/],
		['a missing module', 'import no_such_module_x\ndef test_a():\n    assert solve(3) == 9\n', /not installed/],
		[
			'a class that is not collected',
			'class TestA:\n    def __init__(self):\n        pass\n    def test_a(self):\n        assert solve(3) == 9\n',
			/does not find any tests/,
		],
		['no test in a class', 'class TestA:\n    pass\nassert solve(3) == 9\n', /does not find any tests/],
	] as const) {
		const { fault } = await check(context, right, tests);
		assert.match(fault ?? '', words, name);
	}
});

test('an answer cannot turn its failure into a row error or replace what tests rely on', {
	skip,
}, async (context) => {
	const skipping =
		'import pytest\ndef test_a():\n    x = solve(3)\n    if x is None:\n        pytest.skip("none")\n    if x == 0:\n        pytest.xfail("zero")\n    assert x == 9\ndef test_b():\n    assert solve(3) == 9\n';
	const collecting =
		'import pytest\nif solve(3) is None:\n    pytest.skip("none", allow_module_level=True)\ndef test_a():\n    assert solve(3) == 9\n';
	const none = 'def solve(x):\n    return None\n';
	for (const [answer, file] of [
		[none, skipping],
		['def solve(x):\n    return 0\n', skipping],
		[none, collecting],
	] as const) {
		const { passed, parts, fault } = await check(context, answer, file);
		assert.deepEqual([passed, parts > 0, fault], [0, true, null], `${answer}${file}`);
	}
	const tests =
		'import pytest\nVALUE = solve(3)\n@pytest.fixture\ndef nine():\n    return solve(3)\ndef test_a(nine):\n    assert nine == 9 and VALUE == 9\n';
	for (const answer of [
		'def solve(x):\n    raise ModuleNotFoundError("No module named x")\n',
		'def solve(x):\n    raise LookupError("fixture \'nine\' not found")\n',
		'class Skipped(Exception): pass\ndef solve(x):\n    raise Skipped("skipped")\n',
		'def nine():\n    return 9\nVALUE = 9\npytest = None\ndef test_a():\n    pass\ndef solve(x):\n    return 1\n',
	]) {
		const { passed, parts, fault } = await check(context, answer, tests);
		assert.equal(fault, null, answer);
		assert.ok(passed < parts, answer);
	}
});
