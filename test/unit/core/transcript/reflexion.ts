import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readTranscript } from '../../../../src/core/transcript/readTranscript.ts';
import type { Transcript } from '../../../../src/core/transcript/transcript.ts';
import { root } from '../../../scripts/paths.ts';

export const reflexionFile = join(root, 'test/fixtures/transcripts/reflexion-transcript.txt');

/** Returns a real Reflexion research agent transcript with its errors. */
export async function reflexion(): Promise<Transcript> {
	const file = readTranscript(await readFile(reflexionFile, 'utf8'), 'reflexion-transcript.txt');
	return file.transcripts[0] as Transcript;
}

/** Returns a transcript in OpenAI chat format with defaults for everything irrelevant to a test. */
export function chat(messages: readonly unknown[], more: object = {}): Transcript {
	return readTranscript(JSON.stringify({ messages, ...more }), 'chat.json').transcripts[0] as Transcript;
}

/** Returns an assistant message with a tool call. */
export const calls = (name: string, args: unknown, id = 'call_1', more: object = {}) => ({
	role: 'assistant',
	content: null,
	tool_calls: [
		{ id, type: 'function', function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } },
	],
	...more,
});

export const answers = (content: string, id = 'call_1', more: object = {}) => ({
	role: 'tool',
	tool_call_id: id,
	content,
	...more,
});

const sources = JSON.stringify([
	{
		url: 'https://example.org/moe',
		content: 'The mixture of experts model reduces computational costs by up to 40% compared with dense models.',
	},
	{
		url: 'https://example.org/grpo',
		content: 'Group relative policy optimization estimates the baseline from the rewards of a group of completions.',
	},
]);

/** Returns the same transcript without its errors: a successful call, a retry that fixes the problem, an end. */
export function mended(): Transcript {
	const first = {
		answer: 'Experts and GRPO matter for research.',
		reflection: { missing: 'No costs are given.', superfluous: 'Empty first sentence.' },
		search_queries: ['costs of experts'],
	};
	const second = {
		answer: 'The mixture of experts model reduces computational costs by up to 40% [1].',
		reflection: { missing: 'GRPO is not explained.', superfluous: 'Nothing.' },
		search_queries: ['GRPO baseline'],
		references: ['https://example.org/moe'],
	};
	const third = {
		answer:
			'The mixture of experts model reduces computational costs by up to 40% [1]. Group relative policy optimization takes its baseline from the rewards of a group [2].',
		reflection: { missing: 'None', superfluous: 'None' },
		search_queries: ['none'],
		references: ['https://example.org/moe', 'https://example.org/grpo'],
	};
	const usage = (prompt: number, completion: number) => ({
		usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
	});
	return chat([
		{ role: 'user', content: 'Write about experts and GRPO.' },
		calls('AnswerQuestion', first, 'call_1', usage(200, 50)),
		answers(sources, 'call_1'),
		calls('ReviseAnswer', second, 'call_2', usage(400, 60)),
		answers(sources, 'call_2'),
		calls('ReviseAnswer', third, 'call_3', usage(600, 70)),
		answers(sources, 'call_3'),
	]);
}
