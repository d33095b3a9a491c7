import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparableStates, shortState } from '../../../../src/core/episode/shortState.ts';

const ends = (length: number) => `… (${length} characters)`;
const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`attribute ${i}`, 'x'.repeat(i)]));

describe('the short form of a state', () => {
	it('is the state itself if the state is short', () => {
		const state = { number: 4, done: false, board: [[1], []], at: { x: null }, text: 'é' };
		assert.deepEqual(shortState(state), state);
		assert.deepEqual(shortState({}), {});
	});

	it('truncates long values, and marks them with their length', () => {
		const board = Array.from({ length: 100 }, (_, i) => i);
		const written = JSON.stringify(board);
		assert.deepEqual(shortState({ text: 'x'.repeat(300), board, next: 1 }), {
			text: `${'x'.repeat(160)}${ends(300)}`,
			board: `${written.slice(0, 160)}${ends(written.length)}`,
			next: 1,
		});
		// The environment host has already truncated this text.
		assert.equal(shortState({ text: `${'x'.repeat(400)}${ends(5000)}` }).text, `${'x'.repeat(160)}${ends(5000)}`);
		assert.equal(JSON.stringify(shortState({ text: '🙂'.repeat(200), a: undefined })).includes('\\ud83d'), false);
	});

	it('has at most 1,000 characters, and counts the omitted attributes', () => {
		for (const state of [many, { ...many, '...': '36 more' }, { ['\0'.repeat(80)]: '\0'.repeat(999), a: 1 }]) {
			const short = shortState(state);
			const { '...': rest, ...kept } = short;
			assert.ok(JSON.stringify(kept).length <= 1000, JSON.stringify(kept));
			const known = '...' in state ? 36 - 1 : 0;
			assert.equal(rest, `${Object.keys(state).length - Object.keys(kept).length + known} more`);
			assert.deepEqual(shortState(short), short);
		}
	});

	it('keeps every name', () => {
		const short = shortState(JSON.parse('{"__proto__": 1, "constructor": 2}'));
		assert.equal(JSON.stringify(short), '{"__proto__":1,"constructor":2}');
	});
});

describe('two states', () => {
	const whole = { tries: 1, text: 'x'.repeat(300) };
	it('are compared in the short form if only one of them is whole', () => {
		assert.deepEqual(comparableStates(whole, shortState(whole)), [shortState(whole), shortState(whole)]);
		assert.deepEqual(comparableStates(shortState(many), many), [shortState(many), shortState(many)]);
	});

	it('are compared in full if both are whole', () => {
		const other = { ...whole, text: `${'x'.repeat(299)}y` };
		assert.deepEqual(comparableStates(whole, other), [whole, other]);
	});
});
