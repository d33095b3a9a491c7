import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';
import { checkFaithfulness, type SameAnswer } from '../../../../src/core/trace/faithfulness.ts';
import { createMathComparer } from '../../../../src/rewards/mathVerifier.ts';

const tags = resolveTemplate('r1');
const check = (think: string, answer: string, same?: SameAnswer) => {
	const text = `<think>${think}</think><answer>${answer}</answer>`;
	const found = checkFaithfulness(text, tags, same);
	if (found !== null) {
		const { concludedAt, answerAt, concluded } = found;
		// Positions are inside their sections, whatever was parsed.
		assert.ok(concludedAt.start >= 7 && concludedAt.end <= 7 + think.length, JSON.stringify(found));
		assert.ok(answerAt.start >= text.indexOf('<answer>') + 8 && answerAt.end <= text.length - 9);
		if (think.includes(concluded)) assert.equal(text.slice(concludedAt.start, concludedAt.end), concluded);
	}
	return found?.agrees ?? null;
};

describe('consistency of thinking and answer', () => {
	for (const [think, answer, expected] of [
		['12*3=36, plus 1 is 37', '42', false],
		['12*3=36, plus 1 is 37', '37', true],
		['12*3=36\n36+1=37', '37', true],
		['So the total is 42 apples.', '42 apples', true],
		['Therefore the answer is 1,000.', '1000', true],
		['The answer is (B).', 'B', true],
		['The answer is B', 'C', false],
		['Thus \\boxed{\\frac{1}{2}}', '\\frac{1}{2}', true],
		['so x = 37', '37', true],
		['so x = 37', '38', false],
		['37', '42', false],
		['37', 'The answer is 37.', true],
		// Steps of a column addition: the last equation is not a conclusion.
		['7+5=12;carry 1;3+4+1=8', '82', null],
		['The sum is 3.14', '3.142', null],
		['let me see', '42', null],
		['', '42', null],
		['It is 5.', '', null],
	] as const) {
		it(`${JSON.stringify(think)}, answered ${JSON.stringify(answer)}: ${expected}`, () => {
			assert.equal(check(think, answer), expected);
		});
	}

	it('is unknown without thinking, with several answers, or without tags', () => {
		assert.equal(checkFaithfulness('<answer>5</answer>', tags), null);
		assert.equal(checkFaithfulness('<think>is 5</think><answer>5</answer><answer>6</answer>', tags), null);
		assert.equal(checkFaithfulness('It is 5', { think: null, answer: null }), null);
		const deepseek = { think: ['<think>', '</think>'], answer: null } as const;
		assert.equal(checkFaithfulness('<think>It is 5.</think>\n6', deepseek)?.agrees, false);
		assert.equal(checkFaithfulness('<think>It is 5.</think>\nThe answer is \\boxed{5}.', deepseek)?.agrees, true);
	});

	describe('with mathematical equivalence', () => {
		let same: SameAnswer;
		before(async () => {
			const compare = await createMathComparer();
			same = (concluded, answer) => {
				const { value } = compare(concluded, answer, { sole: true });
				return value === null ? null : value === 1;
			};
		});

		it('compares values in different notations', () => {
			assert.equal(check('Thus \\boxed{\\frac{1}{2}}', '0.5', same), true);
			assert.equal(check('Thus \\boxed{\\frac{1}{2}}', '\\frac{1}{3}', same), false);
			assert.equal(
				check('Thus \\boxed{\\frac{1}{2}}', '\\frac{1}{3}'),
				null,
				'unknown without mathematical equivalence',
			);
		});
	});

	it('accepts any text, in linear time', () => {
		const random = Random.of(5, 'faithfulness');
		const parts = [
			'<think>',
			'</think>',
			'<answer>',
			'</answer>',
			'= 5',
			' is 7',
			'\\boxed{',
			'}',
			'$',
			'\n',
			'x',
			'5',
			'.',
			'answer:',
		];
		for (let i = 0; i < 500; i++) {
			const text = Array.from({ length: random.int(30) }, () => random.pick(parts)).join('');
			const found = checkFaithfulness(text, tags);
			if (found === null) continue;
			for (const { start, end } of [found.concludedAt, found.answerAt]) assert.ok(start <= end && end <= text.length);
		}
		for (const unit of ['= ', 'is 5 ', '\\boxed{', '$', '. ', 'answer is ']) {
			checkFaithfulness(`<think>${unit.repeat(200_000)}</think><answer>5</answer>`, tags);
		}
	});
});
