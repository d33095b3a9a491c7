import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainMarkdown } from '../../../../src/extension/rewards/plainMarkdown.ts';

const decoded = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));

test('no Markdown syntax remains, and every letter is still readable', () => {
	for (const hostile of [
		'[run](command:workbench.action.terminal.new)',
		'![x](https://example.com/a.png)',
		'https://example.com and www.example.com and a@example.com',
		'<img src=x onerror=alert(1)> &lt;b&gt;',
		'$(zap) **bold** _it_ `code` ~~~',
		'- item 1. item # head > quote | table',
		'😀 \\[x\\](y)',
	]) {
		const plain = plainMarkdown(hostile);
		assert.doesNotMatch(plain.replace(/&#\d+;/g, ''), /[[\]()<>!*_`~#|$\\@:./-]/, plain);
		assert.equal(decoded(plain), hostile);
	}
	assert.equal(plainMarkdown('a\nb'), 'a b');
});
