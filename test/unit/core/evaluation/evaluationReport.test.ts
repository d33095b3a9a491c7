import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type EvaluatedSample, evaluationReport } from '../../../../src/core/evaluation/evaluationReport.ts';

/** Builds samples from one string of answers per question; "1" is correct and "-" states no answer. */
function samplesOf(...questions: readonly string[]): EvaluatedSample[] {
	return questions.flatMap((answers, problem) =>
		[...answers].map((answer, i) => ({
			problem,
			correct: answer === '1',
			answer: answer === '-' ? null : answer,
			tokens: 10 * (i + 1),
			truncated: answer === '-',
			category: problem % 2 === 0 ? 'even' : null,
		})),
	);
}

const near = (actual: number | undefined, expected: number) =>
	assert.ok(Math.abs((actual ?? Number.NaN) - expected) < 1e-12, `${actual} is not ${expected}`);

/** Yields all subsets of k out of n positions. */
function* subsets(n: number, k: number, from = 0): Iterable<number[]> {
	if (k === 0) {
		yield [];
		return;
	}
	for (let i = from; i <= n - k; i++) for (const rest of subsets(n, k - 1, i + 1)) yield [i, ...rest];
}

describe('evaluation report', () => {
	test('best-of-k picks the most likely sample of every subset', () => {
		const questions = ['1223', '3211'];
		const likely = [0.9, 0.2, 0.6, 0.4];
		const samples = samplesOf(...questions).map((sample, i) => ({
			...sample,
			logprob: Math.log(likely[i % 4] as number) * sample.tokens,
		}));
		const { bestAtK } = evaluationReport(samples);
		for (const [i, k] of [1, 2, 4].entries()) {
			let best = 0;
			for (const answers of questions) {
				const all = [...subsets(4, k)];
				for (const places of all) {
					const [first] = [...places].sort((a, b) => (likely[b] as number) - (likely[a] as number));
					best += Number(answers[first as number] === '1') / all.length / questions.length;
				}
			}
			assert.equal(bestAtK[i]?.k, k);
			near(bestAtK[i]?.accuracy, best);
		}
		assert.deepEqual(evaluationReport(samplesOf('12')).bestAtK, [], 'there are no log-probabilities');
		assert.deepEqual(evaluationReport([...samples, ...samplesOf('1111')]).bestAtK, []);
	});

	test('best-of-k by judge picks the highest-rated sample, and never a truncated one', () => {
		const valued = (text: string, ...scores: (number | null)[]) =>
			samplesOf(text).map((sample, i) => ({ ...sample, score: scores[i] ?? null }));
		const { judgedAtK, bestAtK } = evaluationReport(valued('12', 0.9, 0.1));
		assert.deepEqual(bestAtK, []);
		near(judgedAtK.at(-1)?.accuracy, 1);
		const even = evaluationReport(valued('12', 0.5, 0.5)).judgedAtK;
		assert.deepEqual(
			even.map(({ k, accuracy }) => [k, accuracy]),
			[
				[1, 0.5],
				[2, 0.5],
			],
		);
		// Truncated samples have no value and are never picked.
		const cut = evaluationReport(valued('1-', 0.1, null)).judgedAtK;
		near(cut.at(-1)?.accuracy, 1);
		assert.deepEqual(evaluationReport(valued('12', 0.1, null)).judgedAtK, [], 'a value is missing');
	});

	test('pass@k and cons@k are means over all subsets of k samples', () => {
		const questions = ['1123', '2213', '1--2', '22-1'];
		const report = evaluationReport(samplesOf(...questions));
		assert.deepEqual(
			report.passAtK.map(({ k }) => k),
			[1, 2, 4],
		);
		for (const [i, { k }] of report.passAtK.entries()) {
			let pass = 0;
			let cons = 0;
			for (const answers of questions) {
				const all = [...subsets(4, k)];
				for (const places of all) {
					const drawn = places.map((place) => answers[place] as string);
					pass += Number(drawn.includes('1')) / all.length;
					// A tie goes to the answer that comes first, and each tied answer is equally likely to come first.
					const stated = drawn.filter((answer) => answer !== '-');
					const votes = [...new Set(stated)].map((answer) => stated.filter((other) => other === answer).length);
					const max = Math.max(0, ...votes);
					const even = [...new Set(stated)].filter((_, v) => votes[v] === max);
					cons += even.length === 0 ? 0 : Number(even.includes('1')) / even.length / all.length;
				}
			}
			near(report.passAtK[i]?.accuracy, pass / questions.length);
			near(report.consAtK[i]?.accuracy, cons / questions.length);
		}
		near(report.accuracy.accuracy, (2 + 1 + 1 + 1) / 16);
		near(report.passAtK[0]?.accuracy, report.accuracy.accuracy);
	});

	test('rates, lengths, categories and calibration match hand-computed values', () => {
		const report = evaluationReport(samplesOf('1111', '2221', '1122'));
		near(report.truncated ?? Number.NaN, 0);
		near(report.tokens.all, 25);
		near(report.tokens.right ?? Number.NaN, (100 + 40 + 30) / 7);
		assert.deepEqual(
			report.byLength.map(({ from, to, samples, accuracy }) => [from, to, samples, accuracy]),
			[
				[10, 10, 3, 2 / 3],
				[20, 20, 3, 2 / 3],
				[30, 30, 3, 1 / 3],
				[40, 40, 3, 2 / 3],
			],
		);
		assert.deepEqual(
			report.categories.map(({ name, problems, accuracy }) => [name, problems, accuracy]),
			[['even', 2, 0.75]],
		);
		// Confidences 1, 0.75 and 0.5; accuracies 1, 0 and 0.5 (two tied answers).
		near(report.calibration?.error ?? Number.NaN, 0.75 / 3);
		assert.deepEqual(
			report.calibration?.bins.map(({ from, problems, accuracy }) => [from, problems, accuracy]),
			[
				[0.5, 1, 0.5],
				[0.7, 1, 0],
				[0.9, 1, 1],
			],
		);
	});

	test('one sample per question gives neither a curve nor calibration', () => {
		const report = evaluationReport(samplesOf('1', '2', '-'));
		assert.deepEqual(
			report.passAtK.map(({ k }) => k),
			[1],
		);
		assert.equal(report.calibration, null);
		near(report.unanswered, 1 / 3);
		near(report.truncated ?? Number.NaN, 1 / 3);
		assert.equal(evaluationReport(samplesOf('2')).tokens.right, null);
	});
});
