import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CodeTests, readCodeTests } from '../../../src/rewards/codeTestsCases.ts';
import { runCodeTests } from '../../../src/rewards/codeTestsRun.ts';
import {
	endlessCheats,
	javascriptCheats,
	javascriptRows,
	pythonCheats,
	pythonRows,
} from '../../support/codeTestCheats.ts';
import { testSandbox } from './sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();

/** Runs every test for asserts; for the other forms, stops at the first failure. */
const run = (code: string, tests: CodeTests, language: 'python' | 'javascript', timeoutSeconds = 1.5) =>
	runCodeTests(sandbox, code, tests, {
		timeoutSeconds,
		memoryMb: 128,
		language,
		stopAtFailure: tests.kind !== 'asserts',
	});
const tests = (row: Record<string, unknown>) => readCodeTests(row) as CodeTests;

/**
 * `every`: tests in the forms that share a checker process, run against every answer. `others`: for each other form,
 * the answers that also run against it, because they exploit something specific to that form.
 * `npm run acceptance -- codeTestCheats` runs all answers against all forms.
 */
const python = {
	every: tests({
		entry_point: 'solve',
		tests: [...snippets(pythonRows.asserts), ...snippets(pythonRows.check)],
	}),
	others: {
		unittest: ['unittest replaced', 'builtins replaced', 'modules replaced', 'an object that equals everything'],
		calls: [
			'an object that equals everything',
			'a list whose items equal everything',
			"the callers' frames changed",
			'a marker written to every output stream',
			'a huge value',
			'a deeply nested value',
			'os._exit(0) in the function',
		],
		streams: [
			'sys.exit(0)',
			'a marker written to every output stream',
			'a child process that replies',
			'the test file read',
			'a program that never ends',
		],
	},
};
const javascript = {
	every: tests({
		entry_point: 'solve',
		tests: [...snippets(javascriptRows.asserts), ...snippets(javascriptRows.candidate)],
	}),
	others: {
		calls: [
			'a proxy',
			'an object that converts to the expected value',
			'globals replaced',
			'a marker written to every output stream',
		],
		streams: ['process.exit(0)', 'a marker written to every output stream', 'a program that never ends'],
	},
};

function snippets(row: CodeTests | undefined): readonly string[] {
	assert.ok(row?.kind === 'asserts');
	return row.tests;
}

/** Returns the tests that an answer must not pass, by form. */
function formsFor(name: string, { every, others }: typeof python | typeof javascript, rows: typeof pythonRows) {
	const more = Object.entries(others).filter(([, names]: [string, readonly string[]]) => names.includes(name));
	return [['asserts', every] as const, ...more.map(([form]) => [form, rows[form] as CodeTests] as const)];
}

describe('cheating answers in Python', { skip, concurrency: 2 }, () => {
	it('exist under the names listed above', () => {
		for (const name of Object.values(python.others).flat()) assert.ok(name in pythonCheats, name);
		for (const name of Object.values(javascript.others).flat()) assert.ok(name in javascriptCheats, name);
	});

	for (const [name, code] of Object.entries(pythonCheats)) {
		it(name, async () => {
			for (const [form, row] of formsFor(name, python, pythonRows)) {
				const { passed, total } = await run(code, row, 'python', endlessCheats.has(name) ? 0.3 : undefined);
				assert.equal(passed, 0, `${form}: ${passed} of ${total}`);
			}
		});
	}

	it('lists modified while the test sorts them', async () => {
		const row = tests({ tests: ['x = [3, 1, 2]\nassert solve(x) == sorted(x)'] });
		assert.equal((await run('def solve(x):\n    x.clear()\n    return []', row, 'python')).passed, 0);
	});

	it('a test that does not use the answer does not count', async () => {
		const row = tests({ tests: ['assert True', 'def check(candidate):\n    assert candidate(1) == 1'] });
		assert.equal((await run('def solve(x):\n    return 1', row, 'python')).passed, 0);
	});

	it('the correct answer passes all of these tests', async () => {
		for (const [form, row] of Object.entries(pythonRows)) {
			const code = form === 'streams' ? 'print(int(input()) ** 2)' : 'def solve(x):\n    return x * x';
			const { passed, total, why } = await run(code, row, 'python');
			assert.equal(passed, total, `${form}: ${why}`);
		}
	});
});

describe('cheating answers in JavaScript', { skip, concurrency: 2 }, () => {
	for (const [name, code] of Object.entries(javascriptCheats)) {
		it(name, async () => {
			for (const [form, row] of formsFor(name, javascript, javascriptRows)) {
				const { passed, total } = await run(code, row, 'javascript', endlessCheats.has(name) ? 0.3 : undefined);
				assert.equal(passed, 0, `${form}: ${passed} of ${total}`);
			}
		});
	}

	it('the correct answer passes all of these tests', async () => {
		for (const [form, row] of Object.entries(javascriptRows)) {
			const code =
				form === 'streams'
					? 'console.log(Number(require("fs").readFileSync(0, "utf8")) ** 2)'
					: 'function solve(x) { return x * x }';
			const { passed, total, why } = await run(code, row, 'javascript');
			assert.equal(passed, total, `${form}: ${why}`);
		}
	});
});
