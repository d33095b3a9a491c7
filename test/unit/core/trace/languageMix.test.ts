import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { findLanguageMix } from '../../../../src/core/trace/languageMix.ts';

const found = (text: string) =>
	findLanguageMix(text).stretches.map(({ start, end, of }) => [of, text.slice(start, end)]);

describe('language mix detection', () => {
	it('marks other scripts with their punctuation', () => {
		const text = 'The sum is what we need. 等等，我们再检查一下。 So it is 5.';
		assert.deepEqual(found(text), [['Han', '等等，我们再检查一下']]);
		const { script, language, foreign } = findLanguageMix(text);
		assert.deepEqual([script, language], ['Latin', 'en']);
		assert.ok(foreign > 0.1 && foreign < 0.5);
		assert.deepEqual(found('Сначала найдём сумму. Then we add two numbers. Готово.'), [
			['Latin', 'Then we add two numbers'],
		]);
	});

	it('treats Han near kana as Japanese', () => {
		assert.equal(findLanguageMix('これは日本語の文章です。漢字も。').script, 'Japanese');
		assert.deepEqual(found('これは日本語の文章です。漢字も。'), []);
	});

	it('marks a sentence in another language only by a clear margin', () => {
		const text =
			'The number is in the list and it is the one that we need for this. ' +
			'Aber das ist nicht der Fall, weil wir es nicht haben. So we try again.';
		assert.deepEqual(found(text), [['de', 'Aber das ist nicht der Fall, weil wir es nicht haben']]);
		assert.deepEqual(found('We take the angle and add it. Das ist gut.'), [], 'a few words are too little evidence');
	});

	it('ignores formulas, code, tags, URLs and single letters', () => {
		for (const text of [
			'The angle α is π and the rest is Δ.',
			'We have $\\alpha\\beta = привет$ and `等等` and https://例え.jp/等等 for it.',
			'x=3; y=4',
			'<think>12*3=36</think>',
		]) {
			assert.deepEqual(found(text), [], text);
		}
		assert.deepEqual(findLanguageMix('12*3=36'), { script: null, language: null, foreign: 0, stretches: [] });
	});

	it('checks a section, with offsets into the whole text, and accepts any text', () => {
		const text = '等等<think>We add it 等等 and it is the sum.</think>';
		const { stretches } = findLanguageMix(text, { start: 9, end: text.length - 8 });
		assert.deepEqual(
			stretches.map(({ start, end }) => text.slice(start, end)),
			['等等'],
		);
		for (const unit of ['$', '`', '\\(', '<a', 'é', '\ud83d', '等a']) findLanguageMix(unit.repeat(100_000));
	});

	it('gives the same result for plain text with and without a letter of another script', () => {
		const random = Random.of(3, 'plain');
		const parts =
			"the The der nicht aber und we' I’m don’t ' ’ a x 12 -- – … × ≥ → ² . ! \n $x_1$ `code` \\(y\\) \\pi <b> ''it".split(
				' ',
			);
		let foreign = 0;
		for (let round = 0; round < 2000; round++) {
			let text = '';
			for (let i = random.int(60); i >= 0; i--) {
				text += parts[random.int(parts.length)] + (random.int(4) === 0 ? '' : ' ');
			}
			// A single Greek letter is not a word, but it rules out the faster path for plain text.
			const any = findLanguageMix(`${text} α`);
			assert.deepEqual(findLanguageMix(text), any, JSON.stringify(text));
			foreign += any.stretches.length;
		}
		assert.ok(foreign > 10, `${foreign}`);
	});
});
