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

/** Returns asserts and one of the other forms in turn. `npm run acceptance -- codeTests` tries every form. */
function formsFor(rows: Readonly<Record<string, CodeTests>>, turn: number): [string, CodeTests][] {
	const [asserts, ...others] = Object.entries(rows);
	return [asserts, others[turn % others.length]] as [string, CodeTests][];
}

describe('cheating answers in Python', { skip, concurrency: 2 }, () => {
	for (const [turn, [name, code]] of Object.entries(pythonCheats).entries()) {
		it(name, async () => {
			for (const [form, row] of formsFor(pythonRows, turn)) {
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
	for (const [turn, [name, code]] of Object.entries(javascriptCheats).entries()) {
		it(name, async () => {
			for (const [form, row] of formsFor(javascriptRows, turn)) {
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
