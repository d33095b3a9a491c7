import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { ContaminationIndex } from '../../../../../src/core/dataset/hygiene/contamination.ts';
import { wordsOf } from '../../../../../src/core/dataset/hygiene/words.ts';

const syllables = ['ka', 'mo', 'ri', 'te', 'su', 'lan', 'ver', 'dop', 'shi', 'gre', 'nu', 'pal'];
const word = (random: Random) => random.pick(syllables) + random.pick(syllables) + random.pick(syllables);
const sentence = (random: Random, length: number) => Array.from({ length }, () => word(random));
/** Formats the same words the way other authors might write them. */
const disguised = (words: readonly string[], random: Random) =>
	words.map((w) => (random.next() < 0.3 ? w.toUpperCase() : w)).join(random.next() < 0.5 ? '  ' : ', ');

describe('decontamination by ten consecutive words', () => {
	const random = Random.of(7, 'contamination');
	const tests = Array.from({ length: 200 }, () => sentence(random, 12 + random.int(40)));
	const index = new ContaminationIndex();
	for (const [i, words] of tests.entries()) index.add(words.join(' '), i);

	test('finds each of 100 planted overlaps and the test it comes from', () => {
		for (let i = 0; i < 100; i++) {
			const which = random.int(tests.length);
			const from = tests[which] as string[];
			const start = random.int(from.length - 9);
			const planted = disguised(from.slice(start, start + 10), random);
			const text = [...sentence(random, random.int(60)), planted, ...sentence(random, random.int(60))].join(' ');
			const found = index.find(text);
			assert.equal(found?.test, which, text);
			assert.equal(found.words, from.slice(start, start + 10).join(' '));
			assert.deepEqual(
				wordsOf(text)
					.slice(found.at, found.at + 10)
					.join(' '),
				found.words,
			);
		}
	});

	test('flags none of 10,000 clean rows, some of which share nine words with a test', () => {
		for (let i = 0; i < 10_000; i++) {
			const from = tests[random.int(tests.length)] as string[];
			const start = random.int(from.length - 9);
			// The words before and after differ from the test.
			const nine = i % 5 === 0 ? ['zzz', ...from.slice(start, start + 9), 'zzz'] : [];
			const text = [...sentence(random, 20 + random.int(30)), ...nine].join(' ');
			assert.equal(index.find(text), null, text);
		}
	});

	test('matches a short test text as a whole, and skips one that is too generic', () => {
		const short = new ContaminationIndex();
		short.add('What is 12 + 5?', 3);
		short.add('12 + 5', 4);
		short.add('Solve!', 5);
		assert.equal(short.tooShort, 1);
		assert.equal(short.find('Tell me: what is 12+5 ? Think.')?.test, 3);
		assert.equal(short.find('What is 12 - 5?'), null, 'a different operator makes a different problem');
		assert.equal(short.find('What is 112 + 5?'), null);
		assert.equal(short.find('It is 12 + 5.')?.test, 4);
	});

	test('does not match the same words in a different order', () => {
		const one = new ContaminationIndex();
		one.add('a b c d e f g h i j', 0);
		assert.equal(one.find('a b c d e f g h j i'), null, 'the order matters');
		assert.equal(one.find('b c d e f g h i j a'), null);
		assert.equal(one.find('x A B C, D E F — G H I J.')?.at, 1);
	});
});
