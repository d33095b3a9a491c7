import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { datasetPresets } from '../../../../src/core/dataset/presets.ts';
import { benchmarkProblem } from '../../../../src/core/evaluation/benchmarks.ts';
import { r1Tags } from '../../../../src/core/trace/trace.ts';
import type { BenchmarkName } from '../../../../src/protocol/benchmarks.ts';
import type { SearchProblem } from '../../../../src/protocol/treeLog.ts';
import { openJudge } from '../../../../src/search/evaluate/openJudge.ts';
import { testSandbox } from '../../rewards/sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();

function problemOf(name: BenchmarkName, row: unknown): SearchProblem {
	const problem = benchmarkProblem(name, row);
	assert.ok(typeof problem === 'object');
	return { prompt: problem.prompt, answer: problem.answer, row: { ...problem.row } };
}
const answered = (answer: string) => `<think>x</think><answer>${answer}</answer>`;

test('a multiple-choice answer is graded by its letter or its text', async () => {
	const judge = await openJudge('choice', r1Tags, null, '.');
	const problem = problemOf('gpqa-diamond', {
		...{ Question: 'Which?', 'Correct Answer': 'iron', 'Incorrect Answer 1': 'gold' },
		...{ 'Incorrect Answer 2': 'lead', 'Incorrect Answer 3': 'zinc' },
	});
	const wrong = ['A', 'B', 'C', 'D'].find((letter) => letter !== problem.answer) as string;
	const verdicts = await Promise.all(
		[`(${problem.answer})`, 'iron', wrong, 'gold', '?'].map((text) => judge(problem, answered(text))),
	);
	assert.deepEqual(verdicts, [1, 1, 0, 0, 0]);
});

test('code is graded by its tests in the sandbox, several in parallel', { skip }, async () => {
	const judge = await openJudge('code', r1Tags, null, '.', async () => sandbox);
	const human = problemOf('humaneval', datasetPresets.humaneval.example.row);
	const mbpp = problemOf('mbpp', datasetPresets.mbpp.example.row);
	const right = 'def double(x):\n    return 2 * x';
	const verdicts = await Promise.all([
		...[right, 'def double(x):\n    return x', 'no code at all (', right].map((code) => judge(human, answered(code))),
		...[right, 'import sys\nsys.exit(0)'].map((code) => judge(mbpp, answered(code))),
	]);
	assert.deepEqual(verdicts, [1, 0, 0, 1, 1, 0]);
});

test('without a sandbox nothing is graded, and the error comes before any sampling', async () => {
	const none = async () => {
		throw new Failure('unavailable', 'There is no sandbox.');
	};
	await assert.rejects(openJudge('code', r1Tags, null, '.', none), /There is no sandbox/);
});
