import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { cosineLengthReward } from '../../../../src/core/reward/cosineLengthReward.ts';
import { lengthTargetReward } from '../../../../src/core/reward/lengthTargetReward.ts';
import { repetitionReward } from '../../../../src/core/reward/repetitionReward.ts';
import { softOverlongReward } from '../../../../src/core/reward/softOverlongReward.ts';
import { textLength } from '../../../../src/core/reward/textLength.ts';
import { buildTokenizer } from '../../../../src/core/text/vocabulary.ts';
import { wordsOf } from '../../../../src/core/trace/wordPlaces.ts';
import { r1, sample, strangeCompletions, untagged, worked } from './rewardSamples.ts';

const near = (actual: number | null, expected: number) =>
	assert.ok(actual !== null && Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);
const characters = { unit: 'characters', of: 'completion' } as const;
/** Returns a completion of n characters, which is also n tokens. */
const long = (n: number) => sample('a'.repeat(n), {}, untagged);

describe('text length', () => {
	test('in tokens counts a tag as one token and any other character as one', () => {
		assert.equal(textLength('<think>ab</think><answer>7</answer>', 'tokens', r1), 4 + 3);
		assert.equal(textLength('<think>ab</think><answer>7</answer>', 'characters', r1), 35);
		assert.equal(textLength('\ud83d\ude00\ud83d\ude00', 'tokens', r1), 2);
		// Removing a tag does not create another one.
		assert.equal(textLength('<thi<think>nk>', 'tokens', r1), 8);
	});

	test("in tokens matches the embedded engine's tokenizer", () => {
		const texts = strangeCompletions('lengths', 300).filter((text) => text.isWellFormed());
		const tokenizer = buildTokenizer({ name: 'r1', prompt: '{prompt}', ...r1 }, texts);
		for (const text of texts) assert.equal(textLength(text, 'tokens', r1), tokenizer.encode(text).length, text);
	});

	test('in words splits at whitespace, and counts characters in scripts without spaces', () => {
		assert.equal(textLength('one  two\nthree-four', 'words', r1), 3);
		assert.deepEqual(wordsOf('计算 3+4 は seven'), ['计', '算', '3+4', 'は', 'seven']);
		assert.equal(textLength(' \n ', 'words', r1), 0);
	});
});

describe('soft-overlong (DAPO, equation 13)', () => {
	const options = { ...characters, maxLength: 20, cacheLength: 5 };
	const value = (n: number) => softOverlongReward(long(n), options, untagged);

	test('is 0 up to L_max - L_cache, falls to -1 at L_max, and remains there', () => {
		assert.equal(value(0), 0);
		assert.equal(value(15), 0);
		near(value(16), (15 - 16) / 5);
		near(value(18), -0.6);
		assert.equal(value(20), -1);
		assert.equal(value(21), -1);
		assert.equal(value(1000), -1);
	});

	test("matches the numbers in the paper's setting: 20,480 with a soft range of 4,096", () => {
		const paper = { ...characters, maxLength: 20_480, cacheLength: 4096 };
		assert.equal(softOverlongReward(long(16_384), paper, untagged), 0);
		near(softOverlongReward(long(18_432), paper, untagged), -0.5);
		assert.equal(softOverlongReward(long(20_480), paper, untagged), -1);
	});

	test('never increases with length', () => {
		for (let n = 0; n < 40; n++) assert.ok(value(n + 1) <= value(n));
	});

	test('for the thinking only, ignoring the rest', () => {
		const thinking = { unit: 'characters', of: 'thinking', maxLength: 10, cacheLength: 4 } as const;
		near(softOverlongReward(sample(worked('12345678', 'x'.repeat(90))), thinking, r1), -0.5);
		assert.equal(softOverlongReward(sample('no thinking at all'), thinking, r1), 0);
	});
});

describe('length-target', () => {
	const base = { ...characters, alpha: 0.0003, delta: 0.5, target: 100 };

	test('near is triangular around the target', () => {
		const options = { ...base, mode: 'near', range: 50 } as const;
		const value = (n: number) => lengthTargetReward(long(n), options, untagged, null);
		assert.equal(value(100), 1);
		near(value(75), 0.5);
		near(value(125), 0.5);
		assert.equal(value(50), 0);
		assert.equal(value(500), 0);
	});

	test('near uses the target as its range by default', () => {
		const options = { ...base, mode: 'near' } as const;
		near(lengthTargetReward(long(50), options, untagged, null), 0.5);
		assert.equal(lengthTargetReward(long(0), options, untagged, null), 0);
	});

	test('exact is the length term of LCPO-Exact: -alpha |target - n|', () => {
		const options = { ...base, mode: 'exact', target: 1000 } as const;
		near(lengthTargetReward(long(600), options, untagged, null), -0.12);
		near(lengthTargetReward(long(1400), options, untagged, 1), -0.12);
		assert.equal(Object.is(lengthTargetReward(long(1000), options, untagged, null), 0), true);
	});

	test('max is LCPO-Max: correct x clip(alpha (target - n) + delta, 0, 1)', () => {
		const options = { ...base, mode: 'max', target: 1000 } as const;
		near(lengthTargetReward(long(1000), options, untagged, 1), 0.5);
		near(lengthTargetReward(long(0), options, untagged, 1), 0.8);
		near(lengthTargetReward(long(2000), options, untagged, 1), 0.2);
		assert.equal(lengthTargetReward(long(3000), options, untagged, 1), 0);
		assert.equal(lengthTargetReward(long(0), { ...options, alpha: 1 }, untagged, 1), 1);
		assert.equal(lengthTargetReward(long(500), options, untagged, 0), 0);
		assert.equal(lengthTargetReward(long(500), options, untagged, null), null);
	});

	test("prefers the row's own target to the recipe's, and is null without either", () => {
		const options = { ...base, mode: 'near', range: 10, column: 'n' } as const;
		const row = (n: unknown) => ({ ...long(10), row: { n } });
		assert.equal(lengthTargetReward(row(10), options, untagged, null), 1);
		assert.equal(lengthTargetReward(row('10'), options, untagged, null), 1);
		assert.equal(lengthTargetReward(row(null), options, untagged, null), 0);
		const { target: _, ...without } = options;
		for (const none of [null, 'soon', -1, Number.NaN]) {
			assert.equal(lengthTargetReward(row(none), without, untagged, null), null, String(none));
		}
		assert.equal(lengthTargetReward({ ...long(1), row: {} }, without, untagged, null), null);
	});

	test('missing thinking has length zero and still receives a reward', () => {
		const options = { ...base, of: 'thinking', mode: 'near' } as const;
		assert.equal(lengthTargetReward(sample('<answer>7</answer>'), options, r1, null), 0);
	});
});

describe("cosine-length (Yeo et al. 2025; open-r1's values)", () => {
	const options = {
		...characters,
		maxLength: 1000,
		correctShort: 1,
		correctLong: 0.5,
		wrongShort: -1,
		wrongLong: -0.5,
	} as const;
	const value = (n: number, correct: number | null) => cosineLengthReward(long(n), options, untagged, correct);

	test('goes from the short value to the long value along half a cosine', () => {
		near(value(0, 1), 1);
		near(value(500, 1), 0.75);
		near(value(1000, 1), 0.5);
		near(value(0, 0), -1);
		near(value(500, 0), -0.75);
		near(value(1000, 0), -0.5);
		// cos(pi / 5) = (1 + sqrt 5) / 4
		near(value(200, 1), 0.5 + 0.25 * (1 + (1 + Math.sqrt(5)) / 4));
		// cos(pi / 3) = 1/2: -0.5 - 0.25 x 1.5
		near(cosineLengthReward(long(400), { ...options, maxLength: 1200 }, untagged, 0), -0.875);
	});

	test('does not rise again beyond the maximum length', () => {
		near(value(2000, 1), 0.5);
		near(value(1500, 0), -0.5);
	});

	test('returns a separate value beyond the maximum length, if one is set', () => {
		const strict = { ...options, exceeded: -10 };
		assert.equal(cosineLengthReward(long(1000), strict, untagged, 1), -10);
		assert.equal(cosineLengthReward(long(1001), strict, untagged, 0), -10);
		near(cosineLengthReward(long(500), strict, untagged, 1), 0.75);
	});

	test('does not apply if accuracy does not', () => assert.equal(value(10, null), null));

	test('decreases with length for correct answers and increases for incorrect ones, with correct always higher', () => {
		const random = Random.of('cosine');
		for (let i = 0; i < 500; i++) {
			const [a, b] = [random.int(1400), random.int(1400)].sort((x, y) => x - y) as [number, number];
			assert.ok((value(a, 1) as number) >= (value(b, 1) as number));
			assert.ok((value(a, 0) as number) <= (value(b, 0) as number));
			assert.ok((value(b, 1) as number) > (value(a, 0) as number));
		}
	});
});

describe("repetition (open-r1's get_repetition_penalty_reward)", () => {
	const options = { ngram: 3, maxPenalty: -1, unit: 'words', of: 'completion' } as const;
	const value = (text: string, more = {}) =>
		repetitionReward(sample(text, {}, untagged), { ...options, ...more }, untagged);

	test('is maxPenalty times the fraction of repeated n-grams', () => {
		// 4 trigrams, all different
		assert.equal(Object.is(value('a b c d e f'), 0), true);
		// a b a b a b: trigrams aba bab aba bab, 2 of 4 are new
		near(value('a b a b a b'), -0.5);
		// the same word six times: 4 trigrams, 1 is new
		near(value('no no no no no no'), -0.75);
		near(value('No NO no nO no no', { maxPenalty: -2 }), -1.5);
		// this is a test this is a test: thisisa isatest atestthis testthisis thisisa isatest, 4 of 6 are new
		near(value('this is a test this is a test'), -(1 - 4 / 6));
	});

	test('is 0 for fewer words than an n-gram has', () => {
		assert.equal(value(''), 0);
		assert.equal(value('a a'), 0);
		assert.equal(value('a a a'), 0);
		near(value('a a a a'), -0.5);
	});

	test('counts characters if enabled', () => {
		near(value('ababab', { unit: 'characters' }), -0.5);
		near(value('你好你好你好'), -0.5);
	});

	test('stays between maxPenalty and 0, and approaches maxPenalty for endless repetition', () => {
		for (const text of strangeCompletions('repetition', 300)) {
			const penalty = value(text, { maxPenalty: -3 });
			assert.ok(penalty <= 0 && penalty > -3, `${penalty}`);
		}
		assert.ok(value('wait '.repeat(5000)) < -0.999);
	});
});
