import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { ContextOverflow } from '../../../../src/policies/contextOverflow.ts';
import { named } from '../../../../src/policies/control/engineRequests.ts';

test('an input that exceeds the context is recognized by its field, whatever the message says', () => {
	const failure = named(new Failure('invalid', 'Too long.', undefined, { context: 96 }), 'cold');
	assert.ok(failure instanceof ContextOverflow);
	assert.equal(failure.context, 96);
	assert.match(failure.message, /^cold: the prompt does not fit in the 96-token context/);
});

test('the messages of earlier engines, which have no field, are still understood', () => {
	for (const message of [
		'prompts[2] exceeds the context of 64 tokens.',
		'prompts[0] with its completion does not fit into the context of 64 tokens.',
	]) {
		const failure = named(new Failure('invalid', message), 'cold');
		assert.ok(failure instanceof ContextOverflow && failure.context === 64, message);
	}
});

test('any other failure keeps its reason and its action, and names the policy', () => {
	const failure = named(new Failure('busy', 'The engine is busy.', 'Try again.'), 'cold');
	assert.ok(!(failure instanceof ContextOverflow));
	assert.deepEqual(failure.toJSON(), { reason: 'busy', message: 'cold: The engine is busy.', action: 'Try again.' });
});
