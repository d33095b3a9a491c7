import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInside } from '../../../src/files/isInside.ts';

test('a path is inside a folder if it is the folder or lies below it', () => {
	for (const inside of ['/a/b', '/a/b/', '/a/b/c', '/a/b/c/d', '/a/b/../b/c', '/a/b/..c', '/a/b/...'])
		assert.ok(isInside(inside, '/a/b'), inside);
	for (const outside of ['/a', '/', '/a/bc', '/a/b/..', '/a/b/../c', '/a/..b', '/b'])
		assert.ok(!isInside(outside, '/a/b'), outside);
	assert.ok(isInside('/a', '/'));
});
