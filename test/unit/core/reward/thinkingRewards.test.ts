import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { languageConsistencyReward } from '../../../../src/core/reward/languageConsistencyReward.ts';
import { aggregateSteps, splitSteps } from '../../../../src/core/reward/processReward.ts';
import { reflectionReward } from '../../../../src/core/reward/reflectionReward.ts';
import type { LanguageName } from '../../../../src/protocol/recipeKeys/builtInRewards.ts';
import { r1, sample, strangeCompletions, untagged, worked } from './rewardSamples.ts';

describe('language-consistency (DeepSeek-R1, section 2.3.2)', () => {
	const value = (thinking: string, language: LanguageName = 'en') =>
		languageConsistencyReward(sample(worked(thinking, '7')), { language }, r1);
	const texts: Readonly<Partial<Record<LanguageName, string>>> = {
		en: 'We first add the two numbers. Then the result is divided by three, which gives us the mean.',
		de: 'Wir addieren zuerst die beiden Zahlen. Danach wird das Ergebnis durch drei geteilt, und das ist der Mittelwert.',
		fr: 'Nous ajoutons les deux nombres. Ensuite le résultat est divisé par trois, ce qui est la moyenne.',
		es: 'Primero sumamos los dos números. El resultado se divide por tres y esta es la media.',
		it: 'Prima sommiamo i due numeri. Il risultato è diviso per tre e questa è la media.',
		pt: 'Primeiro somamos os dois números. O resultado é dividido por três e essa é a média.',
		nl: 'We tellen eerst de twee getallen op. Daarna wordt het resultaat door drie gedeeld en dat is het gemiddelde.',
		ru: 'Сначала сложим два числа. Затем разделим результат на три.',
		zh: '我们先把两个数相加，然后把结果除以三，得到平均值。',
		ja: 'まず二つの数を足します。次に結果を三で割ると平均になります。',
		ko: '먼저 두 수를 더합니다. 그다음 결과를 셋으로 나눕니다.',
		ar: 'نجمع العددين أولا ثم نقسم النتيجة على ثلاثة.',
		he: 'קודם נחבר את שני המספרים ואז נחלק בשלוש.',
		el: 'Πρώτα προσθέτουμε τους δύο αριθμούς και μετά διαιρούμε με το τρία.',
		hi: 'पहले हम दो संख्याओं को जोड़ते हैं।',
		th: 'ก่อนอื่นเราบวกสองจำนวน',
	};

	test('is 1 for text in the language and 0 for text in any other', () => {
		for (const [language, text] of Object.entries(texts)) {
			for (const target of Object.keys(texts) as LanguageName[]) {
				const expected = target === language ? 1 : 0;
				assert.equal(value(text, target), expected, `${language} text, target ${target}`);
			}
		}
	});

	test('is a fraction of words', () => {
		// 4 English and 4 Russian words.
		assert.equal(value('this is the sum\nэто сумма двух чисел'), 0.5);
		assert.equal(value('это сумма двух чисел\nthis is the sum', 'ru'), 0.5);
		// 6 English words and 2 Han characters.
		assert.equal(value('so we add them 相加 and stop'), 6 / 8);
		// One sentence with 4 English words, one with 6 German words.
		assert.equal(value('That is the sum. Das ist aber noch nicht alles.'), 0.4);
	});

	test('ignores code, formulas, URLs, numbers and variables', () => {
		assert.equal(value('the sum is $\\text{сумма} = 3$ and `сумма`'), 1);
		assert.equal(value('the code is ```\nсумма = 1\n``` so it is done'), 1);
		assert.equal(value('see https://example.org/привет for this'), 1);
		assert.equal(value('x = 3 + 4 = 7'), null);
		assert.equal(value('\\[ \\alpha + \\beta \\]'), null);
		assert.equal(value('3+4=7'), null);
	});

	test('does not apply to thinking without words, and is 0 if the thinking is missing', () => {
		assert.equal(value(''), null);
		assert.equal(languageConsistencyReward(sample('<answer>seven it is</answer>'), { language: 'en' }, r1), 0);
	});

	test('checks only the thinking, or everything if the template has no tags', () => {
		assert.equal(languageConsistencyReward(sample(worked('this is it', 'сумма')), { language: 'en' }, r1), 1);
		const plain = sample('это сумма', {}, untagged);
		assert.equal(languageConsistencyReward(plain, { language: 'en' }, untagged), 0);
	});

	test('is null or a fraction for any completion', () => {
		for (const completion of strangeCompletions('languages', 500)) {
			const share = languageConsistencyReward(sample(completion), { language: 'en' }, r1);
			assert.ok(share === null || (share >= 0 && share <= 1), `${share}`);
		}
	});

	test('terminates on hostile text', () => {
		for (const part of ['`', '$', '\\(', '\\[', '```', 'a', '你', '$$ ']) {
			const share = value(part.repeat(100_000));
			assert.ok(share === null || share === 0 || share === 1, `${part}: ${share}`);
		}
	});
});

describe('reflection', () => {
	const options = { mode: 'count', cap: 4, perPhrase: 2 } as const;
	const value = (thinking: string, more = {}) =>
		reflectionReward(sample(worked(thinking, '7')), { ...options, ...more }, r1);

	test('is the fraction of the cap reached by the markers', () => {
		assert.equal(value('3+4=7'), 0);
		assert.equal(value('wait, 3+4 is 7'), 0.25);
		assert.equal(value('Wait. Let me check: 7. Actually, that is wrong.'), 1);
		assert.equal(value('wait. hmm. actually. hold on. aha. let me see. reconsider'), 1);
	});

	test('counts a phrase up to a limit', () => {
		assert.equal(value('wait '.repeat(100)), 0.5);
		assert.equal(value('Wait wait WAIT', { perPhrase: 1 }), 0.25);
	});

	test('counts the requested behaviors', () => {
		assert.equal(value('wait, let me check', { behaviours: ['verification'] }), 0.25);
		assert.equal(value('wait', { behaviours: ['backtracking'] }), 0);
	});

	test('as a density, divides by the length in thousands of characters, or by 1 if that is larger', () => {
		const filler = 'x'.repeat(3989);
		assert.equal(value(`wait hmm ${filler}  `, { mode: 'density', cap: 2 }), 0.25);
		assert.equal(value('wait', { mode: 'density', cap: 2 }), 0.5);
	});

	test('ignores markers outside the thinking', () => {
		assert.equal(reflectionReward(sample('wait hmm <answer>wait</answer>'), options, r1), 0);
		assert.equal(reflectionReward(sample(worked('3+4=7', 'wait, hmm, actually')), options, r1), 0);
	});

	test('never decreases when a marker is added, and stays within 0 and 1', () => {
		for (const completion of strangeCompletions('marks', 300)) {
			const thinking = completion.replaceAll(/<\/?(?:think|answer)>/g, '');
			const before = value(thinking);
			assert.ok(before >= 0 && before <= 1);
			assert.ok(value(`${thinking} hmm`) >= before);
		}
	});
});

describe('thinking steps', () => {
	test('are split by lines, blank lines, numbers or sentences', () => {
		assert.deepEqual(splitSteps('a\n\nb\nc', 'lines', 9), ['a', 'b', 'c']);
		assert.deepEqual(splitSteps('a\n \nb\nc\n\n\n\nd', 'paragraphs', 9), ['a', 'b\nc', 'd']);
		assert.deepEqual(splitSteps('Intro\nStep 1: add\nmore\nstep 2: divide\n3) done', 'numbered', 9), [
			'Intro',
			'Step 1: add\nmore',
			'step 2: divide',
			'3) done',
		]);
		assert.deepEqual(splitSteps('## Step 1\nx\n**Step 2** y\n12.5 is no step', 'numbered', 9), [
			'## Step 1\nx',
			'**Step 2** y\n12.5 is no step',
		]);
		assert.deepEqual(splitSteps('It is 3.5. Is it? Yes! 好。坏。', 'sentences', 9), [
			'It is 3.5.',
			'Is it?',
			'Yes!',
			'好。',
			'坏。',
		]);
		assert.deepEqual(splitSteps(' \n ', 'lines', 9), []);
	});

	test('beyond the maximum are merged into the last one', () => {
		assert.deepEqual(splitSteps('a\nb\nc\nd', 'lines', 2), ['a', 'b\nc\nd']);
		assert.deepEqual(splitSteps('a\nb', 'lines', 1), ['a\nb']);
	});

	test('have scores that are combined into one value', () => {
		const scores = [0.5, 0.8, 0.25, 1];
		assert.equal(aggregateSteps(scores, 'mean'), 0.6375);
		assert.equal(aggregateSteps(scores, 'min'), 0.25);
		assert.equal(aggregateSteps(scores, 'last'), 1);
		assert.equal(aggregateSteps(scores, 'product'), 0.1);
		for (const how of ['mean', 'min', 'last', 'product'] as const) assert.equal(aggregateSteps([], how), null);
	});
});
