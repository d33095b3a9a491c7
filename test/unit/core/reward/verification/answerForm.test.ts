import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerForm } from '../../../../../src/core/reward/verification/answerForm.ts';

test('an answer of up to 400 characters has a type; a longer one is text', () => {
	const sum = (length: number) => `${'1+'.repeat((length - 2) / 2)}10`.slice(0, length);
	assert.equal(sum(400).length, 400);
	assert.equal(answerForm(sum(400)).form, 'expression');
	assert.equal(answerForm(`  ${sum(400)}\n`).form, 'expression');
	assert.equal(answerForm(sum(402)).form, 'text');
	assert.equal(answerForm('').form, 'text');
});
