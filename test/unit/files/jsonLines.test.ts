import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { formatLine, LineSplitter, parseLine, splitLines } from '../../../src/files/jsonLines.ts';

const bytes = (text: string) => Buffer.from(text);
const texts = (lines: readonly Uint8Array[]) => lines.map((line) => Buffer.from(line).toString());

test('a line of the maximum length is read, and one more byte drops it', () => {
	const splitter = new LineSplitter(4);
	assert.deepEqual(texts(splitter.push(bytes('1234\n12345\n\nab'))), ['1234', '']);
	assert.deepEqual([splitter.dropped, splitter.pending], [1, 2]);
	// The pending part counts too.
	assert.deepEqual(texts(splitter.push(bytes('cd\n'))), ['abcd']);
	assert.deepEqual(texts(splitter.push(bytes('abc'))), []);
	assert.deepEqual(texts(splitter.push(bytes('de'))), []);
	assert.deepEqual(texts(splitter.push(bytes('\nx\n'))), ['x']);
	assert.deepEqual([splitter.dropped, splitter.pending], [2, 0]);
});

test('the lines do not depend on how the stream is chunked', () => {
	const random = Random.of(5, 'jsonLines');
	for (let round = 0; round < 50; round++) {
		const lines = Array.from({ length: 8 }, () => 'é\u2028\r"x'.slice(0, random.int(6)).repeat(random.int(4)));
		const whole = bytes(`${lines.join('\n')}\nrest`);
		const splitter = new LineSplitter(12);
		const got: string[] = [];
		for (let at = 0; at < whole.length; ) {
			const size = 1 + random.int(7);
			// Readers reuse their buffer for the next chunk.
			const chunk = Uint8Array.from(whole.subarray(at, at + size));
			got.push(...texts(splitter.push(chunk)));
			chunk.fill(0);
			at += size;
		}
		const short = lines.filter((line) => Buffer.byteLength(line) <= 12);
		assert.deepEqual(got, short);
		assert.equal(splitter.dropped, lines.length - short.length);
		assert.equal(splitter.pending, 4);
		const { lines: cut, consumed } = splitLines(whole);
		assert.deepEqual(texts(cut), lines);
		assert.equal(whole.subarray(consumed).toString(), 'rest');
	}
});

test('invalid JSON has no value, and numbers that JSON does not support become null', () => {
	assert.equal(parseLine(bytes('')), undefined);
	assert.equal(parseLine(bytes('{"a":')), undefined);
	assert.deepEqual(parseLine(bytes(formatLine({ a: Number.NaN, b: [Number.POSITIVE_INFINITY, 1] }))), {
		a: null,
		b: [null, 1],
	});
});
