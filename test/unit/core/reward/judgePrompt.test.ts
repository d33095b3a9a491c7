import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeMessage, readVerdict } from '../../../../src/core/reward/judgePrompt.ts';

const texts = { problem: '3+4?', gold: '7', response: 'seven' };
const scale: [number, number] = [0, 10];

test("a judge's prompt states the verdict format, and its verdict is parsed", () => {
	const yesNo = judgeMessage(texts, { verdict: 'yes-no', scale, prompt: undefined }, 'c0de');
	assert.match(yesNo, /end with exactly one line:\nVERDICT c0de: YES or NO$/);
	const score = judgeMessage(texts, { verdict: 'score', scale, prompt: undefined }, 'c0de');
	assert.match(score, /end with exactly one line:\nVERDICT c0de: a number from 0 \(worst\) to 10 \(best\)$/);
	for (const text of [yesNo, score]) {
		for (const part of Object.values(texts)) assert.ok(text.includes(`BEGIN c0de\n${part}\nEND c0de`), part);
	}
	const read = (reply: string) => readVerdict(reply, { verdict: 'score', scale }, 'c0de');
	assert.deepEqual(
		['0', '4.5', '10'].map((verdict) => read(`So:\nVERDICT c0de: ${verdict}`)),
		[{ value: 0 }, { value: 0.45 }, { value: 1 }],
	);
	for (const verdict of ['10.5', '-1', 'good']) {
		assert.match((read(`VERDICT c0de: ${verdict}`) as { fault: string }).fault, /not a number from 0 to 10/);
	}
});

test('placeholders inside a text are not filled in', () => {
	const message = judgeMessage(
		{ ...texts, response: '{gold}' },
		{ verdict: 'yes-no', scale, prompt: '{response}' },
		'c',
	);
	assert.ok(message.startsWith('BEGIN c\n{gold}\nEND c\n'));
	assert.ok(!message.includes('7'));
	const none = judgeMessage({ ...texts, gold: null }, { verdict: 'yes-no', scale, prompt: '{gold}|{gold}' }, 'c');
	assert.ok(none.startsWith('BEGIN c\n(none)\nEND c|BEGIN c\n(none)\nEND c\n'));
});
