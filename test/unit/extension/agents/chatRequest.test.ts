import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChatTurn, chatMessages, chatSampling } from '../../../../src/extension/agents/chatRequest.ts';

const turns: ChatTurn[] = [
	{ role: 'user', text: 'Be brief.' },
	{ role: 'user', text: '2 + 2?' },
	{ role: 'assistant', text: '4' },
	{ role: 'assistant', text: ' ' },
	{ role: 'user', text: 'And 3 + 3?' },
];

test('a policy that follows instructions gets the conversation with alternating roles; others get the latest question', () => {
	assert.deepEqual(chatMessages(turns, true), [
		{ role: 'user', content: 'Be brief.\n\n2 + 2?' },
		{ role: 'assistant', content: '4' },
		{ role: 'user', content: 'And 3 + 3?' },
	]);
	assert.deepEqual(chatMessages(turns, false), [{ role: 'user', content: 'And 3 + 3?' }]);
	assert.deepEqual(chatMessages([], true), []);
	assert.deepEqual(chatMessages([{ role: 'assistant', text: 'Hello' }], true), []);
	assert.deepEqual(chatMessages(turns.slice(2), true), [{ role: 'user', content: 'And 3 + 3?' }]);
});

test('a conversation that is too long loses its oldest turns', () => {
	const long: ChatTurn[] = [
		{ role: 'user', text: 'a'.repeat(300_000) },
		{ role: 'assistant', text: 'b'.repeat(300_000) },
		{ role: 'user', text: 'c' },
	];
	assert.deepEqual(chatMessages(long, true), [{ role: 'user', content: 'c' }]);
	const [shortened] = chatMessages([{ role: 'user', text: 'x'.repeat(1e6) }], true);
	assert.equal(String(shortened?.content).length, 400_000);
});

test('sampling follows the request, then the run, then defaults; invalid options are ignored', () => {
	const none = { temperature: null, maxTokens: null };
	assert.deepEqual(chatSampling({}, none, 4096), { temperature: 0.7, topP: 1, maxTokens: 1024 });
	assert.deepEqual(chatSampling({}, { temperature: 1, maxTokens: 64 }, 4096), {
		temperature: 1,
		topP: 1,
		maxTokens: 64,
	});
	assert.deepEqual(chatSampling({ temperature: 0, top_p: 0.9, max_tokens: 1e5 }, none, 512), {
		temperature: 0,
		topP: 0.9,
		maxTokens: 512,
	});
	const wrong = { temperature: Number.NaN, topP: -1, maxTokens: '7', max_tokens: Number.POSITIVE_INFINITY };
	assert.deepEqual(chatSampling(wrong, none, 4096), chatSampling({}, none, 4096));
});
