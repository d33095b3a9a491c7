import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printable } from '../../../src/cli/cliOutput.ts';

test('untrusted text neither controls the terminal nor changes text direction', () => {
	const hostile = 'a\u001b[31mb\u009b1mc\u202ed\u2066e\u200ff\u2028g\u0007h\r\ni';
	assert.equal(printable(hostile), 'a [31mb 1mc d e f g h  i');
	assert.equal(printable('äé 的 👩‍👩‍👧 ok'), 'äé 的 👩‍👩‍👧 ok');
	// Zero-width characters make two different names look identical.
	assert.equal(printable('re\u200bward \u200da\u200cb \ufeffc\u00add\u2060e'), 're ward  a b  c d e');
	assert.equal(printable('می\u200cخواهم'), 'می\u200cخواهم');
});
