import assert from 'node:assert/strict';
import { test } from 'node:test';
import { datasetPresets } from '../../../../src/core/dataset/presets.ts';
import { benchmarkProblem, benchmarks } from '../../../../src/core/evaluation/benchmarks.ts';
import { publishedResults } from '../../../../src/core/evaluation/publishedResults.ts';
import { benchmarkNames } from '../../../../src/protocol/benchmarks.ts';

test('math rows become questions with only the answer', () => {
	for (const [name, preset] of [
		['gsm8k', 'gsm8k'],
		['aime', 'aime'],
	] as const) {
		const { row, problem } = datasetPresets[preset].example;
		const read = benchmarkProblem(name, row);
		assert.ok(typeof read === 'object');
		assert.deepEqual([read.prompt, read.answer], [problem.prompt, problem.answer]);
	}
	const math = benchmarkProblem('math-500', {
		problem: 'p',
		solution: '\\boxed{1}',
		answer: '\\frac12',
		subject: 'Algebra',
	});
	assert.ok(typeof math === 'object');
	assert.deepEqual([math.prompt, math.answer, math.row.subject], ['p', '\\frac12', 'Algebra']);
	const plain = benchmarkProblem('gsm8k', { question: 'q', answer: '7' });
	assert.ok(typeof plain === 'object' && plain.answer === '7');
});

test('the order of GPQA options depends only on the question, and the correct option can be anywhere', () => {
	const row = (i: number) => ({
		Question: `Which is it, ${i}?`,
		'Correct Answer': 'right ',
		'Incorrect Answer 1': 'a',
		'Incorrect Answer 2': 'b',
		'Incorrect Answer 3': 'c',
	});
	const letters = new Set<string>();
	for (let i = 0; i < 40; i++) {
		const read = benchmarkProblem('gpqa-diamond', row(i));
		assert.ok(typeof read === 'object');
		assert.deepEqual(benchmarkProblem('gpqa-diamond', row(i)), read);
		letters.add(read.answer as string);
		const place = (read.answer as string).charCodeAt(0) - 65;
		assert.equal((read.row.options as string[])[place], 'right');
		assert.match(read.prompt, new RegExp(`\\n\\(${read.answer}\\) right(\\n|$)`));
	}
	assert.deepEqual([...letters].sort(), ['A', 'B', 'C', 'D']);
});

test('code rows have tests and no answer', () => {
	const human = benchmarkProblem('humaneval', datasetPresets.humaneval.example.row);
	assert.ok(typeof human === 'object' && human.answer === null);
	assert.match(human.prompt, /whole function:\n\ndef double/);
	assert.equal(human.row.entry_point, 'double');
	const mbpp = benchmarkProblem('mbpp', datasetPresets.mbpp.example.row);
	assert.ok(typeof mbpp === 'object' && mbpp.prompt === datasetPresets.mbpp.example.problem.prompt);
	const live = { question_content: 'Add.', starter_code: '', public_test_cases: '[]', difficulty: 'easy' };
	const read = benchmarkProblem('livecodebench', live);
	assert.ok(typeof read === 'object');
	assert.match(read.prompt, /^Add\.\n\nWrite a Python program that reads the input/);
	const started = benchmarkProblem('livecodebench', { ...live, starter_code: 'class Solution:\n' });
	assert.match(typeof started === 'object' ? started.prompt : '', /starts with this code:\n\nclass Solution:$/);
});

test('rows that do not fit the benchmark are reported', () => {
	for (const [name, row, words] of [
		['gsm8k', [], /is not a JSON object/],
		['gsm8k', { answer: '1' }, /has no column "question" or "problem" or "prompt"/],
		['aime', { problem: 'p' }, /has no column "answer" or "Answer"/],
		['aime', { problem: 'p', answer: { a: 1 } }, /has a "answer" that cannot be compared/],
		['gpqa-diamond', { Question: 'q', 'Correct Answer': 'a' }, /has options that are not strings/],
		['humaneval', { prompt: 'p' }, /has no tests/],
		['mbpp', { text: ' ', test_list: [] }, /has an empty or non-string "text"/],
	] as const) {
		const read = benchmarkProblem(name, row);
		assert.match(typeof read === 'string' ? read : 'a problem', words);
	}
});

test('published results have a source, and benchmarks without published results have none', () => {
	const aime = publishedResults('aime');
	assert.equal(aime.length, 28);
	assert.deepEqual(aime[0], {
		...{
			model: 'DeepSeek-R1',
			source: 'DeepSeek-R1 (Guo et al. 2025, arXiv:2501.12948v1), table 4',
			measure: 'pass@1',
			accuracy: 0.798,
		},
	});
	assert.equal(
		aime.find(({ model, measure }) => model === 'DeepSeek-R1-Zero' && measure === 'cons@64')?.accuracy,
		0.867,
	);
	const distilled = publishedResults('math-500').find(({ model }) => model === 'DeepSeek-R1-Distill-Qwen-7B');
	assert.deepEqual(
		[distilled?.accuracy, distilled?.source],
		[0.928, 'DeepSeek-R1 (Guo et al. 2025, arXiv:2501.12948v1), table 5'],
	);
	assert.equal(
		aime.find(({ model, measure }) => model === 'DeepSeek-R1' && measure === 'cons@64'),
		undefined,
		'no published result',
	);
	assert.deepEqual(publishedResults('gsm8k'), []);
	for (const name of benchmarkNames) {
		// 4 to 64 samples, as published.
		assert.ok(benchmarks[name].samples >= 4 && benchmarks[name].samples <= 64, name);
		for (const { source, accuracy } of publishedResults(name)) {
			assert.match(source, /^DeepSeek-R1 \(Guo et al\. 2025, arXiv:2501\.12948v1\), table [2456]$/);
			assert.ok(accuracy > 0 && accuracy < 1);
		}
	}
});
