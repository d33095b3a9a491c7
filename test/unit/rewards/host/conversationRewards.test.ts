import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutScoreRow } from '../../../../src/core/reward/verification/rowsToVerify.ts';
import type { Message, RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import type { ScoreRow } from '../../../../src/protocol/scorer.ts';
import { createBuiltIn } from '../../../../src/rewards/builtIns.ts';
import { sampleOf } from '../../../../src/rewards/host/sample.ts';
import { r1 } from '../../core/reward/rewardSamples.ts';

type Tags = Record<'think' | 'answer', [string, string] | null>;
const untagged: Tags = { think: null, answer: null };
const gold = '<think>So 42.</think><answer>42</answer> The answer is \\boxed{42}. (B) {"a": 1}';
const call = { type: 'function', function: { name: 'look', arguments: { text: '<answer>42</answer>' } } };
const tool = (content: string): Message => ({ role: 'tool', name: 'look', content });
const said = (content: string | null, more: object = {}): Message => ({ role: 'assistant', content, ...more });
const calls = { tool_calls: [call] };

const entries = [
	...['accuracy', 'format', 'tag-count', 'exact-match', 'majority', 'repetition', 'reflection'].map((use) => ({ use })),
	{ use: 'multiple-choice', options: 'choices' },
	{ use: 'length-target', target: 10, range: 500, of: 'completion' },
	{ use: 'cosine-length', maxLength: 300, of: 'completion' },
	{ use: 'soft-overlong', maxLength: 40, cacheLength: 40, of: 'completion' },
	{ use: 'language-consistency', language: 'en' },
	{ use: 'json-schema', schema: { type: 'object' } },
];

async function values(completion: readonly Message[], tags: Tags = r1) {
	const line = { prompt: [{ role: 'user', content: 'What is it?' }], completion, answer: '42', truncated: false };
	const row: ScoreRow = rolloutScoreRow({ ...line, row: { choices: ['41', '42'] } } as unknown as RolloutLine);
	const sample = sampleOf(JSON.parse(JSON.stringify(row)), tags);
	const context = { tags, task: null, folder: '/', prompt: '{prompt}' };
	const signal = AbortSignal.any([]);
	const all: Record<string, unknown> = {};
	for (const entry of entries) {
		const reward = await createBuiltIn({ ...entry, name: entry.use }, context);
		all[entry.use] =
			reward.scoreAll === undefined
				? await reward.score(sample, signal)
				: await reward.scoreAll([sample, sample], signal);
	}
	return all;
}

test('no reward depends on what tools return', async () => {
	for (const tags of [r1, untagged]) {
		for (const last of ['<think>Hm.</think><answer>7</answer>', 'I give up.', '']) {
			const talk = (text: string) => [said('<think>Look.</think>', calls), tool(text), said(last)];
			const [quiet, hostile] = [await values(talk('ok'), tags), await values(talk(gold), tags)];
			assert.deepEqual(hostile, quiet);
			assert.deepEqual([hostile.accuracy, hostile['exact-match']], [0, 0]);
		}
	}
	// The same holds if the conversation ends with a tool message, or if the policy wrote nothing.
	for (const end of [[said(null, calls), tool(gold)], [tool(gold)], []]) {
		const { accuracy, format } = await values(end);
		assert.deepEqual([accuracy, format], [0, 0]);
	}
});

test('answers and format come from the last message, lengths and thinking from all messages', async () => {
	const last = '<think>Then it is 42.</think><answer>42</answer>';
	const whole = await values([said('<think>Wait, I look.</think>', calls), tool('x'), said(last)]);
	const alone = await values([said(last)]);
	for (const use of ['accuracy', 'format', 'tag-count', 'exact-match', 'multiple-choice', 'majority']) {
		assert.deepEqual(whole[use], alone[use]);
	}
	assert.deepEqual([whole.accuracy, whole.format], [1, 1]);
	assert.ok(Number(whole.reflection) > Number(alone.reflection));
	for (const use of ['length-target', 'soft-overlong', 'cosine-length'])
		assert.ok(Number(whole[use]) < Number(alone[use]));
	// An earlier message does not count as the answer.
	assert.equal((await values([said(last, calls), tool('x'), said('No.')])).accuracy, 0);
});

test('reasoning in a separate field counts as thinking, and content can be blocks', async () => {
	const reasoned = said('<answer>42</answer>', { reasoning_content: 'It is 42.' });
	assert.equal((await values([reasoned])).format, 1);
	assert.equal(
		(await values([{ ...reasoned, content: [{ type: 'text', text: '<answer>42</answer>' }] } as never])).accuracy,
		1,
	);
	const sample = sampleOf(
		{ messages: { prompt: [], completion: [null, 'x', { role: 'assistant', content: 7 }] as never } },
		r1,
	);
	assert.equal(sample.completion, '');
});
