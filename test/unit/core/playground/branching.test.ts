import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type Reason } from '../../../../src/base/failure.ts';
import { joinedTokens, keptTokens, prefixAt, whyNoBranch } from '../../../../src/core/playground/branching.ts';
import { apiCall, caseOf, sideTags } from '../../../../src/core/playground/exchangeText.ts';
import { parseCases } from '../../../../src/core/reward/verification/labeledCase.ts';
import { exchange, sample, side } from './exchanges.ts';

const failsWith = (reason: Reason, words: RegExp) => (error: unknown) =>
	error instanceof Failure && error.reason === reason && words.test(error.message);

const detail = {
	text: ['4', '2', ''],
	logprob: [-0.1, -0.7, -0.01],
	entropy: [0.3, 0.69, 0.05],
	top: [
		[
			['4', -0.1],
			['5', -2.4],
		],
		[
			['2', -0.7],
			['3', -0.71],
		],
		[['', -0.01]],
	] as [string, number][][],
};
const recorded = sample({ text: '42', detail });

test('branching at a token keeps the prefix, replaces the token, and keeps what is known about both', () => {
	const from = exchange(7, { sides: [side(), side({ samples: [sample(), recorded] })] });
	const { branch, prefix, detail: known } = prefixAt(from, { side: 1, sample: 1, token: 1 }, '3');
	assert.equal(prefix, '43');
	assert.deepEqual(branch, { exchange: 7, side: 1, sample: 1, token: 1, from: '2', to: '3' });
	assert.deepEqual(known.text, ['4', '3']);
	assert.deepEqual(known.logprob, [-0.1, -0.71], 'the probability of the alternative');
	assert.deepEqual(known.top, detail.top.slice(0, 2), 'the alternatives at the replaced token');
	assert.equal(prefixAt(from, { side: 1, sample: 1, token: 2 }, '!').prefix, '42!', 'replaces the end of the text');
	assert.deepEqual(prefixAt(from, { side: 1, sample: 1, token: 1 }, 'typed').detail.logprob, [-0.1, null]);
	assert.throws(
		() => prefixAt(from, { side: 1, sample: 1, token: 3 }, 'x'),
		failsWith('missing', /The token does not exist/),
	);
	assert.throws(
		() => prefixAt(from, { side: 1, sample: 0, token: 0 }, 'x'),
		failsWith('missing', /The token does not exist/),
	);
	assert.throws(
		() => prefixAt(from, { side: 2, sample: 0, token: 0 }, 'x'),
		failsWith('missing', /The token does not exist/),
	);
});

test('branching is rejected if the policy cannot continue or the tokens do not match the text', () => {
	assert.equal(whyNoBranch(recorded, true), null);
	assert.match(whyNoBranch(recorded, false) ?? '', /cannot continue/);
	assert.match(whyNoBranch(sample(), true) ?? '', /were not recorded/);
	assert.match(whyNoBranch({ ...recorded, text: '<think>42' }, true) ?? '', /do not match the text/);
	const cut = { ...recorded, text: '4' };
	assert.equal(whyNoBranch(cut, true), null, 'a truncated text');
});

test('token details are stored as numbers that survive JSON', () => {
	const kept = keptTokens({
		text: ['a', 'b'],
		logprob: [Number.NEGATIVE_INFINITY, -1],
		entropy: [Number.NaN, 0.5],
		top: [
			[
				['a', -0.5],
				['z', Number.NEGATIVE_INFINITY],
			],
		],
		partial: true,
	});
	assert.deepEqual(kept, {
		text: ['a', 'b'],
		logprob: [null, -1],
		entropy: [null, 0.5],
		top: [[['a', -0.5]], []],
		partial: true,
	});
	assert.deepEqual(JSON.parse(JSON.stringify(kept)), kept);
	assert.equal(keptTokens(null), null);
	assert.equal(keptTokens({ text: ['a', 'b', 'c'], logprob: [-1, -1, -1] }, 2)?.text.length, 2);
	assert.deepEqual(joinedTokens({ text: ['x'], logprob: [-1] }, detail), {
		text: ['x', '4', '2', ''],
		logprob: [-1, -0.1, -0.7, -0.01],
		entropy: [null, 0.3, 0.69, 0.05],
		top: [[], ...detail.top],
	});
	assert.equal(joinedTokens({ text: ['x', 'y'], logprob: [-1, -1] }, detail, 3)?.text.length, 3);
});

test('an exchange saved as a case can be read by verification', () => {
	const from = exchange(1, { question: 'What is\n1+1?', expected: '2' });
	const one = caseOf(from, side({ prompt: 'Q: What is\n1+1? A:' }), sample({ finish: 'length' }), 1);
	const { cases, faults } = parseCases(`${JSON.stringify(one)}\n`);
	assert.deepEqual(faults, []);
	const [read] = cases;
	assert.equal(read?.label, 'What is 1+1? (a policy)');
	assert.deepEqual([read?.prompt, read?.answer, read?.truncated, read?.expect], ['Q: What is\n1+1? A:', '2', true, 1]);
	assert.equal(caseOf(exchange(1), side(), sample(), null).answer, undefined);
});

test('the API call is safe to paste in a shell for any prompt', () => {
	const text = apiCall(exchange(1, { question: `it's "$HOME" \`x\`` }), side());
	assert.ok(text.includes(`it'\\''s \\"$HOME\\" \`x\``), text);
	assert.match(text, /--policy '\/policy\.json'/);
});

test('tags come from the policy, or otherwise from the text', () => {
	const own = { think: ['[', ']'] as [string, string], answer: null };
	assert.equal(sideTags({ tags: own }, '<answer>1</answer>'), own);
	assert.notEqual(sideTags({ tags: null }, '<answer>1</answer>').answer, null);
	assert.equal(sideTags({ tags: null }, '<think>1</think> 2').answer, null);
	assert.equal(sideTags({ tags: null }, 'plain').think, null);
});
