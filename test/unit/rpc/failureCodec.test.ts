import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseError } from 'vscode-jsonrpc/node';
import { Failure } from '../../../src/base/failure.ts';
import { fromResponseError, toResponseError } from '../../../src/rpc/failureCodec.ts';

test('a failure arrives with everything that code acts on', () => {
	for (const failure of [
		new Failure('busy', 'The device is busy.', 'Wait for it.'),
		new Failure('invalid', 'Too long.', undefined, { context: 96 }),
		new Failure('missing', 'No such run.'),
	]) {
		const { code, message, data } = toResponseError(failure);
		const arrived = fromResponseError(new ResponseError(code, message, JSON.parse(JSON.stringify(data))), 'run/status');
		assert.deepEqual(arrived.toJSON(), failure.toJSON());
	}
});

test('a failure with a reason from a later version becomes an internal failure with the same message', () => {
	const data = { reason: 'tooHot', message: 'The device is too hot.', action: 'Cool it.', more: 1 };
	const arrived = fromResponseError(new ResponseError(-31000, 'x', data), 'run/status');
	assert.deepEqual(arrived.toJSON(), { reason: 'internal', message: 'The device is too hot.', action: 'Cool it.' });
});

test('an error without a readable description says which request failed', () => {
	for (const data of [undefined, { message: 3 }, { reason: 'invalid', message: 'x', context: -1 }]) {
		const arrived = fromResponseError(new ResponseError(-31000, 'went wrong', data), 'run/status');
		assert.deepEqual([arrived.reason, arrived.message], ['unavailable', 'run/status: went wrong']);
	}
});
