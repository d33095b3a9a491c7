import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { type Asked, faults, type Reply, replies } from '../vscodeStandIn.ts';

const { askChoice, askText } = await import('../../../../src/extension/search/questions.ts');

/** Replies to the next question. @returns the questions, filled in once asked */
function answer(reply: Reply): Asked[] {
	const asked: Asked[] = [];
	replies.push((one) => {
		asked.push(one);
		return reply;
	});
	return asked;
}

afterEach(() => {
	replies.length = 0;
	faults.length = 0;
});

const choices = [
	{ label: 'a', value: 1 },
	{ label: 'b', value: 2 },
];

test('a single question has no step number; one of several has a number and a Back button', async () => {
	const alone = answer({ pick: 'b' });
	assert.deepEqual(await askChoice({ title: 'Which', step: 1, steps: 1 }, choices), { value: 2 });
	assert.deepEqual([alone[0]?.step, alone[0]?.totalSteps], [undefined, undefined]);
	const second = answer('back');
	assert.equal(await askChoice({ title: 'Which', step: 2, steps: 3 }, choices), 'back');
	assert.deepEqual([second[0]?.step, second[0]?.totalSteps], [2, 3]);
	answer('cancel');
	assert.equal(await askText({ title: 'What', step: 1, steps: 2 }, ''), 'cancel');
});

test('the suggested choice is found even in items loaded later, and a failed list fails the question', async () => {
	const late = answer({ pick: 'a' });
	const wait = new Promise<typeof choices>((resolve) => setTimeout(resolve, 5, choices));
	assert.deepEqual(await askChoice({ title: 'Which', step: 1, steps: 2 }, wait, (value) => value === 2), { value: 1 });
	assert.equal(late[0]?.proposed, 'b');
	const broken = Promise.reject(new Error('no list'));
	await assert.rejects(askChoice({ title: 'Which', step: 1, steps: 2 }, broken), /no list/);
});

test('text is accepted only once it is valid', async () => {
	answer({ type: ['', 'x'] });
	const given = await askText({ title: 'Name', step: 1, steps: 1 }, 'old', (text) => (text === '' ? 'Empty.' : null));
	assert.deepEqual(given, { value: 'x' });
	assert.deepEqual(faults, ['Empty.', null]);
});
