import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureTally, failureText } from '../../../src/base/failureTally.ts';

test('failures are counted by cause, ignoring numbers and quoted text', () => {
	const tally = new FailureTally();
	for (let i = 0; i < 12; i++)
		tally.add(`The prompt "What is ${i}?" has "${'abc'[i % 3]}", which does not exist in the vocabulary.`);
	tally.add('The model is gone.');
	assert.equal(tally.total, 13);
	assert.deepEqual(tally.groups(), [
		{ message: 'The prompt "What is 0?" has "a", which does not exist in the vocabulary.', count: 12 },
		{ message: 'The model is gone.', count: 1 },
	]);
	assert.equal(
		String(tally),
		'The prompt "What is 0?" has "a", which does not exist in the vocabulary (12), The model is gone (1).',
	);
	assert.equal(failureText([{ message: 'The model is gone.', count: 3 }]), 'The model is gone.');
});

test('group counts add up for any number of causes, and memory stays bounded', () => {
	const words = Array.from(
		{ length: 500 },
		(_, i) => `cause ${String.fromCharCode(97 + (i % 26))}${'z'.repeat(i / 26)}`,
	);
	const tally = new FailureTally([...words, words[3] as string, 'x'.repeat(100_000)]);
	const groups = tally.groups(5);
	assert.equal(groups.length, 5);
	assert.deepEqual(groups[0], { message: words[3], count: 2 });
	assert.equal(groups.at(-1)?.message, 'Other reasons');
	assert.equal(
		groups.reduce((sum, { count }) => sum + count, 0),
		tally.total,
	);
	assert.ok(tally.groups(1000).every(({ message }) => message.length < 500));
});
