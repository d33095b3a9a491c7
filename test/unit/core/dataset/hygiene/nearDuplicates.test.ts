import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { DuplicateFinder, searched } from '../../../../../src/core/dataset/hygiene/duplicateFinder.ts';
import { HashIndex } from '../../../../../src/core/dataset/hygiene/hashIndex.ts';
import { answerKind, FactsCounter } from '../../../../../src/core/dataset/hygiene/statistics.ts';
import { WordHashes } from '../../../../../src/core/dataset/hygiene/wordHashes.ts';
import { wordsOf } from '../../../../../src/core/dataset/hygiene/words.ts';

function findDuplicates(texts: readonly string[], options?: ConstructorParameters<typeof DuplicateFinder>[0]) {
	const finder = new DuplicateFinder(options);
	const words = new WordHashes();
	for (const [row, text] of texts.entries()) finder.add(row, words.read(text));
	return { ...searched(finder.search()), compared: finder.compared };
}

/** Returns the exact Jaccard similarity of two texts' five-word shingles. */
function similarity(a: readonly string[], b: readonly string[]): number {
	const runs = (words: readonly string[]) =>
		new Set(words.length < 5 ? [words.join(' ')] : words.slice(4).map((_, i) => words.slice(i, i + 5).join(' ')));
	const [one, two] = [runs(a), runs(b)];
	const both = [...one].filter((run) => two.has(run)).length;
	return both / (one.size + two.size - both);
}

const sentence = (random: Random, length: number) => Array.from({ length }, () => `w${random.int(3000)}`);

describe('duplicates', () => {
	test('finds planted near duplicates and nothing else', () => {
		const random = Random.of(3, 'duplicates');
		const texts = Array.from({ length: 400 }, () => sentence(random, 60));
		const expected: number[][] = [];
		for (let i = 0; i < 40; i++) {
			const copy = [...(texts[i * 10] as string[])];
			// One changed word affects five of its 56 shingles: similarity 51 / 61.
			copy[5 + random.int(50)] = 'changed';
			expected.push([i * 10, texts.length]);
			texts.push(copy);
		}
		const { exact, near } = findDuplicates(texts.map((words) => words.join(' ')));
		assert.deepEqual(exact, []);
		const found = new Set(near.map((group) => group.join()));
		const missed = expected.filter((pair) => !found.has(pair.join()));
		// Each one is a candidate with probability 0.97.
		assert.ok(missed.length <= 4, `missed ${missed.length} of 40`);
		assert.equal(near.length, 40 - missed.length, 'no false groups');
	});

	test('exact duplicates differ only in case, spacing and punctuation; blank rows do not count', () => {
		const { exact, near } = findDuplicates(['What is 3 + 4?', 'what is 3+4', 'What is 3 - 4?', '', '  ', 'Other.']);
		assert.deepEqual(exact, [[0, 1]]);
		assert.deepEqual(near, []);
	});

	test('every reported pair reaches the similarity threshold, and few such pairs are missed', () => {
		const random = Random.of(5, 'similar');
		const texts: string[][] = [];
		const wanted: boolean[] = [];
		for (let i = 0; i < 300; i++) {
			const one = sentence(random, 6 + random.int(120));
			const two = [...one];
			const cut = random.int(one.length >> 1);
			two.splice(random.int(2) === 0 ? 0 : two.length - cut, cut);
			texts.push(one, two);
			wanted.push(cut > 0 && similarity(one, two) >= 0.8);
		}
		const { near, exact } = findDuplicates(texts.map((words) => words.join(' ')));
		const found = new Set(near.map((group) => group.join()));
		assert.equal(exact.length + near.length, new Set([...exact, ...near].map(([first]) => first)).size);
		let missed = 0;
		for (const [i, is] of wanted.entries()) {
			const has = found.has(`${2 * i},${2 * i + 1}`);
			assert.ok(is || !has, `pair ${i} is not similar`);
			if (is && !has) missed++;
		}
		const all = wanted.filter(Boolean).length;
		assert.ok(all > 60 && missed <= all * 0.1, `missed ${missed} of ${all}`);
	});

	test('short texts from the same template are not duplicates', () => {
		const texts = Array.from({ length: 3000 }, (_, i) => `What is ${i} + ${(i * 7) % 3000}?`);
		const { exact, near, compared } = findDuplicates(texts);
		assert.deepEqual([exact, near], [[], []]);
		assert.deepEqual(compared, { exact: 3000, near: 3000, allExact: true, complete: true });
	});

	test('stored results are bounded, and the limits are reported', () => {
		const random = Random.of(8, 'limits');
		const texts = Array.from({ length: 200 }, () => sentence(random, 30).join(' '));
		const both = [...texts, ...texts];
		const by = (options: { distinct?: number; texts?: number; shingles?: number }) =>
			findDuplicates(both, options).compared;
		assert.deepEqual(by({}), { exact: 400, near: 200, allExact: true, complete: true });
		assert.deepEqual(by({ texts: 50 }), { exact: 400, near: 50, allExact: true, complete: false });
		assert.deepEqual(by({ shingles: 26 * 70 }), { exact: 400, near: 70, allExact: true, complete: false });
		const few = findDuplicates(both, { distinct: 100 });
		assert.equal(few.exact.length, 100);
		assert.deepEqual([few.compared.allExact, few.compared.complete], [false, false]);
	});
});

describe('word hashes', () => {
	test('depend only on the words, in any script', () => {
		const random = Random.of(2, 'words');
		const pieces = [
			'A',
			'b',
			'Σ',
			'ς',
			'É',
			'e\u0301',
			'3',
			'½',
			'ﬁ',
			' ',
			'\n',
			'.',
			'+',
			'−',
			'×',
			'|',
			'中',
			'文',
			'😀',
			'\u3000',
			"'",
			'~',
		];
		const [one, two] = [new WordHashes(), new WordHashes()];
		for (let n = 0; n < 3000; n++) {
			const text = Array.from({ length: random.int(24) }, () => pieces[random.int(pieces.length)]).join('');
			const words = wordsOf(text);
			one.read(text);
			assert.equal(one.length, words.length, JSON.stringify(text));
			for (const [i, word] of words.entries()) {
				two.read(word);
				const whole = [two.length, two.low[0], two.high[0]];
				assert.deepEqual([1, one.low[i], one.high[i]], whole, JSON.stringify(text));
			}
			const spaced = two.read(words.join('  ')).all;
			assert.deepEqual(one.all, spaced);
		}
	});

	test('an index finds exactly what was added', () => {
		const random = Random.of(4, 'index');
		const index = new HashIndex(5000);
		const map = new Map<string, number>();
		for (let i = 0; i < 20_000; i++) {
			// Use few distinct halves so that many hashes share one.
			const [low, high] = [random.int(200), random.int(60)];
			const key = `${low} ${high}`;
			assert.equal(index.add(low, high, i), map.get(key));
			if (!map.has(key) && map.size < 5000) map.set(key, i);
		}
		assert.equal(index.size, 5000);
		assert.ok(index.full);
	});
});

describe('dataset facts', () => {
	test('include lengths, answer types and vocabulary', () => {
		const row = (prompt: string, answer: string | null, solution: string | null = null) => ({
			prompt,
			answer,
			solution,
			key: prompt,
			row: {},
		});
		const counter = new FactsCounter();
		const words = new WordHashes();
		for (const one of [row('one two', '12', 'abc'), row('two three four', '1,200'), row('x', null)]) {
			counter.add(one, words.read(one.prompt));
		}
		const { facts } = counter;
		assert.deepEqual(facts.prompt, { least: 1, median: 7, mean: 22 / 3, p95: 14, most: 14 });
		assert.deepEqual(facts.solution, { least: 3, median: 3, mean: 3, p95: 3, most: 3 });
		assert.deepEqual(facts.answerKinds, [
			['integer', 2],
			['unknown', 1],
		]);
		assert.equal(facts.withSolution, 1);
		assert.equal(facts.vocabulary, 5);
	});

	test('answer types', () => {
		const kinds = ['-7', '0.5', '3/4', '\\frac{1}{2}', 'x^2+1', 'B', '(C)', 'True', 'Paris', '25%', 'A cat (big)'];
		assert.deepEqual(kinds.map(answerKind), [
			'integer',
			'number',
			'number',
			'expression',
			'expression',
			'choice',
			'choice',
			'boolean',
			'text',
			'number',
			'text',
		]);
	});
});
