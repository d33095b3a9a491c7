import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { behaviors } from '../../../../src/core/trace/behaviorNames.ts';
import { countBehaviors, findBehaviors } from '../../../../src/core/trace/behaviors.ts';
import { parseTrace } from '../../../../src/core/trace/parseTrace.ts';

const found = (text: string) => findBehaviors(text).map((mark) => [mark.behavior, text.slice(mark.start, mark.end)]);

describe('reasoning behaviors', () => {
	it('are marked where they occur', () => {
		assert.deepEqual(found("Wait, wait. Wait. That's an aha moment I can flag here."), [
			['reflection', 'Wait'],
			['reflection', 'wait'],
			['reflection', 'Wait'],
			['reflection', 'aha'],
		]);
		assert.deepEqual(found("First, we need the sum. Let\u2019s check: 5. That doesn't work, try again."), [
			['subgoal-setting', 'First,'],
			['verification', 'Let\u2019s check'],
			['backtracking', "doesn't work"],
			['backtracking', 'try again'],
		]);
		assert.deepEqual(found('Working backwards from 24'), [['backward-chaining', 'Working backwards']]);
	});

	it('are marked in other languages, unless only English is requested', () => {
		const text =
			'等等，让我检查一下。 Warte, das ist falsch. Vérifions. Espera, no funciona. Подождите, проверим. Wait.';
		assert.deepEqual(found(text), [
			['reflection', '等等'],
			['verification', '让我检查'],
			['reflection', 'Warte'],
			['backtracking', 'das ist falsch'],
			['verification', 'Vérifions'],
			['reflection', 'Espera,'],
			['backtracking', 'no funciona'],
			['reflection', 'Подождите'],
			['verification', 'проверим'],
			['reflection', 'Wait'],
		]);
		assert.deepEqual(
			findBehaviors(text, null, 'english').map(({ start, end }) => text.slice(start, end)),
			['Wait'],
			'what the reflection reward counts',
		);
	});

	it('match whole words', () => {
		assert.deepEqual(found('waiter await maharaja actuallyx checkingaccount éwait'), []);
		assert.deepEqual(found('3+5=8;8*2=16'), []);
	});

	it('are searched for only in the thinking if there are tags', () => {
		const text = 'Wait <think>hmm</think><answer>actually</answer>';
		const marks = findBehaviors(text, parseTrace(text));
		assert.deepEqual(
			marks.map(({ start, end }) => text.slice(start, end)),
			['hmm'],
		);
		const untagged = 'hmm, wait';
		assert.equal(findBehaviors(untagged, parseTrace(untagged, { think: null, answer: null })).length, 2);
	});

	it('are counted, including zeros, up to a limit', () => {
		const counts = countBehaviors(findBehaviors('wait '.repeat(20_000)));
		assert.deepEqual(Object.keys(counts), [...behaviors]);
		assert.equal(counts.reflection, 10_000);
		assert.equal(counts.verification, 0);
	});

	it('are ordered and do not overlap', () => {
		const marks = findBehaviors(
			"let me check that, double-check this: that's not right; wait, actually let's try another approach".repeat(50),
		);
		for (let i = 1; i < marks.length; i++) assert.ok((marks[i]?.start ?? 0) >= (marks[i - 1]?.end ?? 0));
	});
});
