import assert from 'node:assert/strict';
import { test } from 'node:test';
import { originOf } from '../../../../src/extension/rewards/apiKeys.ts';

test('a key belongs to an origin, whatever path was entered', () => {
	assert.equal(originOf(' https://api.example.com/v1/chat?x=1 '), 'https://api.example.com');
	assert.equal(originOf('http://127.0.0.1:8000/v1'), 'http://127.0.0.1:8000');
	assert.equal(originOf('HTTPS://API.Example.com:443'), 'https://api.example.com');
	for (const wrong of ['', 'api.example.com', 'ftp://example.com', 'file:///etc', 'javascript:alert(1)']) {
		assert.throws(() => originOf(wrong), { reason: 'invalid' }, wrong);
	}
});
