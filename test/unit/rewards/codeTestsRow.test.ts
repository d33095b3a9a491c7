import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import { type CodeLanguage, codeOfAnswer } from '../../../src/rewards/codeTestsAnswer.ts';
import { readCodeTests } from '../../../src/rewards/codeTestsCases.ts';
import { tolerances } from '../../../src/rewards/codeTestsComparison.ts';
import { sameOutput } from '../../../src/rewards/codeTestsOutput.ts';

const code = (completion: string, language: CodeLanguage = 'python') =>
	codeOfAnswer(completion, parseTrace(completion), language);

describe('code extraction from an answer', () => {
	it('uses the last fenced block of the language in the answer', () => {
		const text =
			'<think>```python\nno\n```</think><answer>\n```python\none\n```\n```py\ntwo\n```\n```text\nout\n```</answer>';
		assert.equal(code(text), 'two\n');
		assert.equal(code(text.replace(/py(thon)?\n/g, '\n')), 'out\n');
	});

	it('uses the whole answer if nothing is fenced', () => {
		assert.equal(code('<think>x</think><answer>print(1)</answer>'), 'print(1)');
	});

	it('uses the text after the thinking if there is no answer section', () => {
		assert.equal(code('<think>x</think>```\nprint(1)\n```'), 'print(1)\n');
		assert.equal(code('```js\n1\n```', 'javascript'), '1\n');
	});

	it('never uses code from the thinking', () => {
		assert.equal(code('<think>```python\nprint(1)\n```'), null);
		assert.equal(code('<think>```python\nprint(1)\n```</think><answer> </answer>'), null);
	});

	it('extends to the end if a fence is not closed, and ends at a fence of the same length', () => {
		assert.equal(code('<answer>```python\nprint(1)</answer>'), 'print(1)\n');
		assert.equal(code('````python\na = """\n```\n"""\n````'), 'a = """\n```\n"""\n');
		assert.equal(code('~~~python\r\nx = 1\r\n~~~'), 'x = 1\r\n');
	});

	it('takes linear time for text full of fences', () => {
		assert.equal(code('`'.repeat(200_000)), null);
		assert.equal(code(`${'```\n```\n'.repeat(50_000)}~~~\nx\n~~~`), 'x\n');
	});
});

describe('the tests of a row', () => {
	it('can be a list of asserts, as in MBPP', () => {
		const row = { test_list: ['assert f(1) == 2', ''], test_setup_code: 'import math', test_imports: [] };
		assert.deepEqual(readCodeTests(row), {
			kind: 'asserts',
			tests: ['assert f(1) == 2'],
			setup: ['import math'],
			prompt: null,
			entryPoint: null,
		});
	});

	it('can be a check function, as in HumanEval, with the definitions from its prompt', () => {
		const row = {
			test: 'def check(candidate):\n    assert candidate(1)',
			entry_point: 'f',
			prompt: 'def f(x):\n    """x"""\n',
		};
		assert.deepEqual(readCodeTests(row), {
			kind: 'asserts',
			tests: [row.test],
			setup: [],
			prompt: row.prompt,
			entryPoint: 'f',
		});
		assert.deepEqual((readCodeTests({ ...row, prompt: 'Write f.' }) as { setup: unknown }).setup, []);
	});

	it('can test a method, with a prompt that the answer needs', () => {
		const test = 'def check(candidate):\n    assert candidate(1)';
		const prompt = 'from typing import *\n\nclass ListNode:\n    pass\n';
		const read = (row: Record<string, unknown>) =>
			readCodeTests({ test, entry_point: 'Solution().f', ...row }) as { entryPoint: unknown; prompt: unknown };
		assert.equal(read({}).entryPoint, 'Solution().f');
		assert.equal(read({ prompt }).prompt, prompt);
		assert.equal(read({ prompt: 'Return the sum.' }).prompt, null);
		assert.equal(read({ entry_point: 'Solution().f.g' }).entryPoint, null);
		assert.equal(read({ entry_point: 'Other().f' }).entryPoint, null);
		assert.equal(read({ entry_point: 'Solution().f', prompt: [{ role: 'user', content: prompt }] }).prompt, null);
	});

	it('can be pairs of input and output, as in APPS', () => {
		const cases = [
			{ input: '1\n', output: '2\n' },
			{ input: '3\n4', output: '5' },
		];
		const text = JSON.stringify({ inputs: ['1\n', ['3', '4']], outputs: ['2\n', ['5']] });
		assert.deepEqual(readCodeTests({ input_output: text }), { kind: 'streams', cases, benchmark: 'apps' });
		assert.deepEqual(readCodeTests({ tests: cases }), { kind: 'streams', cases, benchmark: 'other' });
		assert.deepEqual(readCodeTests({ mine: cases }, 'mine'), { kind: 'streams', cases, benchmark: 'other' });
	});

	it('can be function calls, whose numbers keep all digits', () => {
		const text = '{"fn_name": "f", "inputs": [[12345678901234567890]], "outputs": [1]}';
		const tests = readCodeTests({ input_output: text });
		assert.equal(tests?.kind, 'calls');
		assert.match((tests as { json: string }).json, /12345678901234567890.*"wrapped":true}$/);
		const live = readCodeTests({
			public_test_cases: JSON.stringify([{ input: '[1, 2]\n"x"', output: '[3]', testtype: 'functional' }]),
			metadata: '{"func_name": "g"}',
		});
		assert.deepEqual(live, {
			kind: 'calls',
			entryPoint: 'g',
			json: '{"inputs":[[[1, 2],"x"]],"outputs":[[3]]}',
			count: 1,
			benchmark: 'livecodebench',
		});
	});

	it('are extracted from the verification info in SYNTHETIC-1', () => {
		const info = { language: 'python', test_cases: [{ type: 'stdin_stdout', input: 'a', output: 'b', fn_name: null }] };
		assert.deepEqual(readCodeTests({ verification_info: JSON.stringify(info) }), {
			kind: 'streams',
			cases: [{ input: 'a', output: 'b' }],
			benchmark: 'other',
		});
	});

	it('are null if the row has none', () => {
		for (const row of [{}, { tests: null }, { tests: [] }, { tests: '' }, { tests: [' '] }, { other: 'assert f()' }]) {
			assert.equal(readCodeTests(row.tests?.[0] === ' ' ? { tests: undefined } : row), null);
		}
		assert.equal(readCodeTests({ tests: ['assert f()'] }, 'mine'), null);
	});

	it('are rejected if they are not understood', () => {
		for (const tests of [5, [{ question: 1 }], { inputs: ['1'], outputs: [] }, [1, 2]]) {
			assert.throws(() => readCodeTests({ tests }), { reason: 'invalid', message: /Column "tests"/ });
		}
	});
});

describe('output', () => {
	it('matches despite different line breaks and trailing white space', () => {
		assert.ok(sameOutput('1 2\n3\n', '1 2 \n3'));
		assert.ok(sameOutput('1\n2\n', '1 2'));
		assert.ok(!sameOutput('12', '1 2'));
		assert.ok(!sameOutput('1 2 3', '1 2'));
		assert.ok(!sameOutput('', '0'));
	});

	it('is compared by the rule for its benchmark', () => {
		for (const [written, expected, exact, apps, other] of [
			['2.500001', '2.5', false, true, true],
			['2.50001', '2.5', false, true, false],
			['2.51', '2.5', false, false, false],
			['4e-07', '4e-7', true, true, true],
			['0.0000004', '4e-7', true, true, true],
			['5e-7', '4e-7', false, false, false],
			['1000000000', '1e9', true, false, false],
			['2.50', '2.5', true, true, true],
			['2.0', '2', true, false, false],
			['1e1', '10', true, false, false],
			['-0.0', '0', true, false, false],
			['-1', '1', false, false, false],
			['0.1', '0.10000000000000000001', false, true, true],
			['0.000000001', '0.0', false, true, true],
			['inf', '2.5', false, false, false],
			['1 2', '1\n2', false, true, true],
			[' 1\n2\n', '1\n2', true, true, true],
			['1e999999999', '1.0', false, false, false],
		] as const) {
			const found = [tolerances.livecodebench, tolerances.apps, tolerances.other].map((rule) =>
				sameOutput(written, expected, rule),
			);
			assert.deepEqual(found, [exact, apps, other], `${written} for ${expected}`);
		}
	});

	it('matches decimal fractions within 1e-6, and integers exactly', () => {
		assert.ok(sameOutput('0.3333333333', '0.333333'));
		assert.ok(sameOutput('2', '2.0'));
		assert.ok(!sameOutput('0.34', '0.333333'));
		assert.ok(!sameOutput('2.0', '2'));
		assert.ok(!sameOutput('10000000', '10000001'));
		assert.ok(!sameOutput('nan', '1.0'));
		assert.ok(!sameOutput('1e999', '1.0'));
	});
});
