import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { StageFailure } from '../../../../src/core/pipeline/stageFailure.ts';

const what = 'The stage "a" failed';

test('a failure names its stage only once', () => {
	const own = new StageFailure('a', 'missing', 'The stage "a" kept no pairs.');
	assert.equal(StageFailure.naming('a', own, what), own);
	const plain = StageFailure.naming('a', new Failure('full', 'No space.', 'Free some.'), what);
	assert.deepEqual(plain.toJSON(), { reason: 'full', message: `${what}: No space.`, action: 'Free some.' });
	assert.equal(StageFailure.naming('a', plain, 'The stage "a"'), plain);
});

test('quoting the name of a stage for another reason does not count as naming it', () => {
	// The recipe key "a" has the same name as the stage.
	assert.equal(
		StageFailure.naming('a', new Failure('invalid', '"a" is not a number.'), what).message,
		`${what}: "a" is not a number.`,
	);
	const other = new StageFailure('b', 'missing', 'The stage "b" kept no pairs.');
	assert.equal(StageFailure.naming('a', other, what).message, `${what}: The stage "b" kept no pairs.`);
});
