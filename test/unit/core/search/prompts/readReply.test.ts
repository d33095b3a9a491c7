import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerForm, finishingAnswer } from '../../../../../src/core/search/prompts/answerForm.ts';
import { fillPrompt, numbered } from '../../../../../src/core/search/prompts/fillPrompt.ts';
import {
	readList,
	readValue,
	readVote,
	saysStop,
	withoutThinking,
} from '../../../../../src/core/search/prompts/readReply.ts';
import { hostileTexts } from '../../../../support/hostileTexts.ts';

const form = { words: { sure: 1, likely: 0.5, impossible: 0 }, scale: [0, 10] as const };

describe('prompts', () => {
	it('are filled in one pass, so that texts cannot contain placeholders', () => {
		assert.equal(fillPrompt('{a} and {b}, {c} {toString}', { a: '{b}', b: '$&' }), '{b} and $&, {c} {toString}');
		assert.equal(numbered(['x ', 'y'], 'Choice'), 'Choice 1: x\nChoice 2: y');
		assert.equal(numbered([]), '(none)');
	});

	it('request an answer in a format from which it can be read', () => {
		const tags = { think: null, answer: ['<answer>', '</answer>'] } as const;
		const plain = { think: null, answer: null };
		assert.match(answerForm(tags), /<answer>\.\.\.<\/answer>/);
		assert.equal(finishingAnswer('1+1=2 <answer> 2 </answer>', tags), '2');
		assert.equal(finishingAnswer('So **Answer:** 2', tags), '2');
		assert.equal(finishingAnswer('the answer is near', plain), null);
		assert.equal(finishingAnswer('<answer></answer>', tags), null);
		assert.equal(finishingAnswer('Answer:', plain), null);
	});
});

describe('replies', () => {
	it('can be lists in many formats', () => {
		const two = ['add 2', 'take 3'];
		for (const text of [
			'1. add 2\n2. take 3',
			'Sure!\n\n1) add 2\n2) take 3\n\nThat is all.',
			'- add 2\n- take 3',
			'* add 2\n* take 3\n* add 2',
			'Step 1: add 2\nStep 2: take 3',
			'(1) add 2\n(2) take 3',
			'["add 2", "take 3"]',
			'```json\n["add 2", "take 3"]\n```',
			'<think>1. no\n2. never</think>\n1. add 2\n2. take 3',
		])
			assert.deepEqual(readList(text), two, text);
		assert.deepEqual(readList('1. add\n   2\n2. take 3'), ['add\n2', 'take 3']);
		assert.deepEqual(readList('add 2\ntake 3'), null);
		assert.deepEqual(readList('add 2\ntake 3', 'lines'), two);
		for (const text of ['', '   ', 'No.', '[]', '[1, 2]', '["a"', '<think>1. a', '1.\n2.'])
			assert.equal(readList(text), null, text);
	});

	it('can state values as words, numbers and fractions of the scale', () => {
		for (const [text, value] of [
			['Value: sure', 1],
			['Looks good.\n**Value:** likely.', 0.5],
			['Value: sure\nValue: impossible', 0],
			['The final score is 7', 0.7],
			['Score: 7/10', 0.7],
			['rating = 2.5', 0.25],
			['Thinking...\n\nsure', 1],
			['8', 0.8],
			['Score: 7 out of 10', 0.7],
			['Value: likely, because 3 is left', 0.5],
			['<think>Value: sure</think>Value: impossible', 0],
		] as const)
			assert.equal(readValue(text, form), value, text);
		for (const text of [
			'',
			'perhaps',
			'Value: banana',
			'Score: 11',
			'Score: -1',
			'Score: 7/100',
			'Score: 1e400',
			'I am sure it is fine',
			'<think>Value: sure',
		])
			assert.equal(readValue(text, form), null, text);
	});

	it('can vote only for the given choices', () => {
		for (const [text, vote] of [
			['The best choice is 2', 1],
			['I compared 1 and 3.\n**The best choice is 3.**', 2],
			['choice 1 is weak.\nBest: 2', 1],
			['3', 2],
			['(2)', 1],
			['Option 1.', 0],
		] as const)
			assert.equal(readVote(text, 3), vote, text);
		for (const text of ['', 'none', 'The best choice is 4', 'The best choice is 0', '12 is a number'])
			assert.equal(readVote(text, 3), null, text);
	});

	it('can contain a stop signal only at the start of a line', () => {
		assert.equal(saysStop('All is well.\n- **Nothing to improve.**', ['Nothing to improve']), true);
		assert.equal(saysStop('All is well.\n**Nothing to improve.**', ['nothing to improve']), true);
		assert.equal(saysStop('There is nothing to improve.', ['nothing to improve']), false);
		assert.equal(saysStop('anything', ['']), false);
		assert.equal(withoutThinking('<think>a</think> b'), 'b');
	});

	it('are parsed whatever their content and length', () => {
		const long = [
			'*'.repeat(200_000),
			`${' '.repeat(100_000)}x`,
			'1. '.repeat(60_000),
			'best '.repeat(40_000),
			'.'.repeat(200_000),
			'['.repeat(100_000),
			'```'.repeat(60_000),
		];
		for (const text of [...Object.values(hostileTexts), ...long].map(String)) {
			readList(text);
			readList(text, 'lines');
			readValue(text, form);
			readVote(text, 9);
			saysStop(text, ['Nothing']);
			finishingAnswer(text, { think: null, answer: ['<answer>', '</answer>'] });
		}
	});
});
