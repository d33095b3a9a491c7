import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StreamedPart, ThinkingStream } from '../../../../src/core/trace/thinkingStream.ts';
import { r1Tags } from '../../../../src/core/trace/trace.ts';

/** Joins neighboring parts of the same kind. */
function read(pieces: readonly string[], tags: ConstructorParameters<typeof ThinkingStream>[0] = r1Tags): string[] {
	const stream = new ThinkingStream(tags);
	const parts: StreamedPart[] = [...pieces.flatMap((piece) => stream.push(piece)), ...stream.end()];
	const joined: StreamedPart[] = [];
	for (const part of parts) {
		const last = joined.at(-1);
		if (last?.kind === part.kind) joined[joined.length - 1] = { ...last, text: last.text + part.text };
		else joined.push(part);
	}
	return joined.map(({ kind, text }) => `${kind}: ${text}`);
}

const whole = '<think>1 + 1 < 3</think><answer>2</answer>';
const split = ['thinking: 1 + 1 < 3', 'text: 2'];

test('thinking and answer are separated, wherever the text is cut into pieces', () => {
	assert.deepEqual(read([whole]), split);
	assert.deepEqual(read([...whole]), split);
	for (let i = 0; i <= whole.length; i++) assert.deepEqual(read([whole.slice(0, i), whole.slice(i)]), split, String(i));
});

test('text without tags, incomplete tags and unknown tags stay text', () => {
	assert.deepEqual(read(['a <b> c', ' <thi']), ['text: a <b> c <thi']);
	assert.deepEqual(read(['<think>never ends', ' </thin']), ['thinking: never ends </thin']);
	assert.deepEqual(read([whole], null), [`text: ${whole}`]);
	assert.deepEqual(read([whole], { think: ['', ''], answer: null }), [`text: ${whole}`]);
	assert.deepEqual(read([]), []);
});
