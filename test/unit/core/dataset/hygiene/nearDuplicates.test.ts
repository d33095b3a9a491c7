import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { findDuplicates, jaccard } from '../../../../../src/core/dataset/hygiene/nearDuplicates.ts';
import { answerKind, datasetFacts } from '../../../../../src/core/dataset/hygiene/statistics.ts';

const sentence = (random: Random, length: number) => Array.from({ length }, () => `w${random.int(3000)}`);

describe('duplicates', () => {
	test('planted near duplicates are found, and nothing else', () => {
		const random = Random.of(3, 'duplicates');
		const texts = Array.from({ length: 400 }, () => sentence(random, 60));
		const expected: number[][] = [];
		for (let i = 0; i < 40; i++) {
			const copy = [...(texts[i * 10] as string[])];
			// One word changes five of its 56 runs: similarity 51 / 61.
			copy[5 + random.int(50)] = 'changed';
			expected.push([i * 10, texts.length]);
			texts.push(copy);
		}
		const { exact, near } = findDuplicates(texts.map((words) => words.join(' ')));
		assert.deepEqual(exact, []);
		const found = new Set(near.map((group) => group.join()));
		const missed = expected.filter((pair) => !found.has(pair.join()));
		// Each is proposed with probability 0.97.
		assert.ok(missed.length <= 4, `missed ${missed.length} of 40`);
		assert.equal(near.length, 40 - missed.length, 'no group that is none');
	});

	test('exact ones differ in case, spacing and punctuation alone; blank rows are none', () => {
		const { exact, near } = findDuplicates(['What is 3 + 4?', 'what is 3+4', 'What is 3 - 4?', '', '  ', 'Other.']);
		assert.deepEqual(exact, [[0, 1]]);
		assert.deepEqual(near, []);
	});

	test('similarity is that of Jaccard', () => {
		assert.equal(jaccard(new Set([1, 2, 3]), new Set([2, 3, 4])), 0.5);
		assert.equal(jaccard(new Set([1]), new Set([1])), 1);
	});
});

describe('facts of a dataset', () => {
	test('lengths, kinds of answers and vocabulary', () => {
		const row = (prompt: string, answer: string | null, solution: string | null = null) => ({
			prompt,
			answer,
			solution,
			key: prompt,
			row: {},
		});
		const facts = datasetFacts([row('one two', '12', 'abc'), row('two three four', '1,200'), row('x', null)]);
		assert.deepEqual(facts.prompt, { least: 1, median: 7, mean: 22 / 3, p95: 14, most: 14 });
		assert.deepEqual(facts.solution, { least: 3, median: 3, mean: 3, p95: 3, most: 3 });
		assert.deepEqual(facts.answerKinds, [
			['whole number', 2],
			['unknown', 1],
		]);
		assert.equal(facts.withSolution, 1);
		assert.equal(facts.vocabulary, 5);
	});

	test('kinds of answers', () => {
		const kinds = ['-7', '0.5', '3/4', '\\frac{1}{2}', 'x^2+1', 'B', '(C)', 'True', 'Paris', '25%', 'A cat (big)'];
		assert.deepEqual(kinds.map(answerKind), [
			'whole number',
			'number',
			'number',
			'expression',
			'expression',
			'choice',
			'choice',
			'yes or no',
			'text',
			'number',
			'text',
		]);
	});
});
