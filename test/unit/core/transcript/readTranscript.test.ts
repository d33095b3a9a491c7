import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import {
	describe as inWords,
	readTranscript,
	transcriptLimits,
} from '../../../../src/core/transcript/readTranscript.ts';
import { reflexionFile } from './reflexion.ts';

const read = (text: string) => readTranscript(text, 'log');
const shape = (text: string) =>
	read(text).transcripts.map(({ messages }) => messages.map(({ role, text: words }) => `${role}: ${words}`));
const refuses = (text: string, words: RegExp) =>
	assert.throws(
		() => read(text),
		(error) => error instanceof Failure && words.test(error.toString()),
	);

describe('formats', () => {
	test('messages as printed by Python, anywhere in a text', () => {
		const file = read(
			`Hello!\n[HumanMessage(content='Hi', additional_kwargs={}), AIMessage(content="it's", id='a')]\nBye`,
		);
		assert.equal(file.format, 'python');
		assert.deepEqual(shape("noise [HumanMessage(content='Hi')] more [{'role': 'user', 'content': 'Ho'}]"), [
			['user: Hi'],
			['user: Ho'],
		]);
		assert.deepEqual(
			file.transcripts[0]?.messages.map(({ place }) => place),
			[
				{ line: 2, column: 2 },
				{ line: 2, column: 52 },
			],
		);
	});

	test('chat lists, tables and lists of tables in JSON', () => {
		const list = [
			{ role: 'system', content: 'S' },
			{
				role: 'user',
				content: [
					{ type: 'text', text: 'a' },
					{ type: 'image_url', image_url: { url: 'x' } },
				],
			},
		];
		assert.deepEqual(shape(JSON.stringify(list)), [['system: S', 'user: a']]);
		assert.deepEqual(shape(JSON.stringify({ messages: list })), [['system: S', 'user: a']]);
		assert.deepEqual(shape(JSON.stringify([{ messages: list }, { id: 'b', messages: list }])).length, 2);
		assert.deepEqual(read(JSON.stringify(list)).transcripts[0]?.messages[1]?.attachments, ['image_url']);
	});

	test('requests with their responses', () => {
		const row = {
			request: {
				messages: [{ role: 'user', content: 'Hi' }],
				tools: [{ name: 'f', input_schema: { type: 'object' } }],
			},
			response: {
				choices: [{ message: { role: 'assistant', content: 'Ho' } }],
				usage: { prompt_tokens: 3, completion_tokens: 4 },
			},
		};
		const file = read(`${JSON.stringify(row)}\n${JSON.stringify(row)}\n`);
		assert.equal(file.format, 'jsonl');
		assert.equal(file.transcripts.length, 2);
		const [first] = file.transcripts;
		assert.deepEqual(
			first?.messages.map(({ text }) => text),
			['Hi', 'Ho'],
		);
		assert.equal(first?.messages[1]?.usage?.prompt, 3);
		assert.deepEqual(first?.tools, [{ name: 'f', schema: { type: 'object' } }]);
	});

	test("Anthropic's blocks: thinking, tool calls, and results inside a user message", () => {
		const file = read(
			JSON.stringify({
				system: 'S',
				messages: [
					{
						role: 'assistant',
						content: [
							{ type: 'thinking', thinking: 'hm' },
							{ type: 'text', text: 'Look' },
							{ type: 'tool_use', id: 't1', name: 'look', input: { at: 'x' } },
						],
					},
					{
						role: 'user',
						content: [
							{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'gone' }], is_error: true },
							{ type: 'text', text: 'Go on' },
						],
					},
				],
			}),
		);
		const [transcript] = file.transcripts;
		assert.deepEqual(
			transcript?.messages.map(({ role, text, thinking }) => [role, text, thinking]),
			[
				['system', 'S', ''],
				['assistant', 'Look', 'hm'],
				['tool', 'gone', ''],
				['user', 'Go on', ''],
			],
		);
		assert.deepEqual(transcript?.links, [{ message: 1, call: 0, results: [2] }]);
		assert.deepEqual(transcript?.messages[2]?.result, { callId: 't1', failed: true });
	});

	test('LangChain: messages_to_dict, dumpd, and ShareGPT', () => {
		assert.deepEqual(shape(JSON.stringify([{ type: 'human', data: { content: 'Hi' } }])), [['user: Hi']]);
		const dumped = {
			lc: 1,
			type: 'constructor',
			id: ['langchain', 'schema', 'messages', 'AIMessage'],
			kwargs: { content: 'Ho' },
		};
		assert.deepEqual(shape(JSON.stringify([dumped])), [['assistant: Ho']]);
		assert.deepEqual(shape(JSON.stringify({ conversations: [{ from: 'gpt', value: 'A' }] })), [['assistant: A']]);
	});

	test("OpenAI's responses", () => {
		const items = [
			{ role: 'user', content: 'Hi' },
			{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' },
			{ type: 'function_call_output', call_id: 'c', output: '2' },
		];
		const [transcript] = read(JSON.stringify(items)).transcripts;
		assert.deepEqual(
			transcript?.messages.map(({ role }) => role),
			['user', 'assistant', 'tool'],
		);
		assert.deepEqual(transcript?.links, [{ message: 1, call: 0, results: [2] }]);
	});

	test('rollouts: a prompt and a completion, as text or as messages', () => {
		assert.deepEqual(shape('{"prompt": "1+1", "completion": "2"}'), [['user: 1+1', 'assistant: 2']]);
		const turns = { prompt: [{ role: 'user', content: 'a' }], completion: [{ role: 'assistant', content: 'b' }] };
		assert.deepEqual(shape(JSON.stringify(turns)), [['user: a', 'assistant: b']]);
	});

	test('lines that each have one message form one conversation', () => {
		const file = read('{"role":"user","content":"a"}\n\n{"role":"assistant","content":"b"}\n{"role":"us');
		assert.deepEqual(
			file.transcripts.map(({ messages }) => messages.length),
			[2],
		);
		assert.deepEqual(file.faults.map(inWords), ['Line 4, column 1: The last line is incomplete.']);
	});
});

describe('invalid input', () => {
	test('the real transcript, truncated anywhere, yields its complete messages and reports where it ends', async () => {
		const text = await readFile(reflexionFile, 'utf8');
		const start = text.indexOf('[HumanMessage(');
		for (let cut = start + 300; cut < text.length - 2; cut += 4001) {
			const file = read(text.slice(0, cut));
			const messages = file.transcripts[0]?.messages ?? [];
			assert.ok(messages.length >= 1 && messages.length < 8, `${cut}: ${messages.length}`);
			assert.match(inWords(file.faults[0] as never), /^Line 57, column \d+: The list is incomplete/);
		}
	});

	test('a truncated JSON list yields its complete messages', () => {
		const file = read('[\n  {"role": "user", "content": "a\\/b"},\n  {"role": "assistant", "content": "c"}\n  {"role');
		assert.deepEqual(
			file.transcripts[0]?.messages.map(({ text }) => text),
			['a/b', 'c'],
		);
		assert.equal(file.faults.length, 1);
	});

	test('input without messages is rejected with a single error', () => {
		refuses('', /log does not contain a list of messages\. .*Open a chat log in JSON/);
		refuses('just words', /does not contain a list of messages/);
		refuses('{"a": 1}', /No list of messages found/);
		refuses('[1, 2, 3]', /Item 1 is not a message or a conversation/);
		refuses('\0\u0001\ufffd'.repeat(1000), /does not contain a list of messages/);
		refuses('[AIMessage(content=open("x").read())]', /Line 1, column 29: The list is incomplete/);
		refuses('[HumanMessage(content=__import__("os").system("true"))]', /does not contain a list of messages/);
	});

	test('a non-message among messages is an error', () => {
		const file = read(JSON.stringify([{ role: 'user', content: 'a' }, 5, { nonsense: true }]));
		assert.equal(file.transcripts[0]?.messages.length, 1);
		assert.equal(file.faults.length, 2);
	});

	test('input that is too long, too deep or too large fails quickly', () => {
		refuses('x'.repeat(transcriptLimits.characters + 1), /reads at most 33554432.*Save the conversation/);
		refuses('['.repeat(1_000_000), /does not contain a list of messages/);
		refuses("[{'role':".repeat(200_000), /does not contain a list of messages/);
		refuses("[{'role':<".repeat(200_000), /does not contain a list of messages/);
		refuses(`[{"role": ${'"'.repeat(999_999)}`, /does not contain a list of messages/);
		refuses(' '.repeat(5_000_000), /does not contain a list of messages/);
		const many = read(
			`[${'{"role":"user","content":""},'.repeat(transcriptLimits.messages + 5)}{"role":"user","content":""}]`,
		);
		assert.equal(many.transcripts[0]?.messages.length, transcriptLimits.messages);
		assert.match(many.faults[0]?.message ?? '', /Only the first 20000 messages/);
	});

	test('texts are not changed', () => {
		const hostile = '<script>alert(1)</script>\u001b[31m\u202eevil\u0000';
		assert.equal(read(JSON.stringify([{ role: 'user', content: hostile }])).transcripts[0]?.messages[0]?.text, hostile);
	});

	test('wrong types anywhere are not misinterpreted', () => {
		const [transcript] = read(
			JSON.stringify([
				{
					role: 'assistant',
					content: 5,
					tool_calls: 'x',
					usage: { prompt_tokens: -1, completion_tokens: 0.5 },
					name: {},
				},
				{ role: 'assistant', content: { a: 1 }, tool_calls: [null, 3, { function: null }, { name: 'ok', args: null }] },
				{ role: 'tool', content: null, tool_call_id: 7 },
			]),
		).transcripts;
		assert.deepEqual(
			transcript?.messages.map(({ text, calls, usage }) => [text, calls.map(({ name }) => name), usage]),
			[
				['', [], null],
				['{\n  "a": 1\n}', ['ok'], null],
				['', [], null],
			],
		);
	});
});
