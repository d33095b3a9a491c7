import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findText } from '../../../../src/core/trace/findText.ts';

describe('text search', () => {
	it('matches every character literally, ignoring case', () => {
		for (const text of [...'-/\\^$.*+?()[]{}|,:=<>#&~ é😀', 'a-b', '[a-b]', '(?=x)', '</think>']) {
			assert.deepEqual(findText(`ab${text}12${text.toUpperCase()}`, text), [
				{ start: 2, end: 2 + text.length },
				{ start: 4 + text.length, end: 4 + 2 * text.length },
			]);
		}
	});

	it('has a limit, and an empty string never matches', () => {
		assert.equal(findText('aaaa', 'a', 3).length, 3);
		assert.deepEqual(findText('aaaa', ''), []);
	});
});
