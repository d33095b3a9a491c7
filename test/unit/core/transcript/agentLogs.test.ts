import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { checkTranscript } from '../../../../src/core/transcript/checkTranscript.ts';
import { describe as inWords, readTranscript } from '../../../../src/core/transcript/readTranscript.ts';
import { root } from '../../../scripts/paths.ts';

const read = (value: unknown) => readTranscript(typeof value === 'string' ? value : JSON.stringify(value), 'log');
const lines = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).join('\n');
const shape = (file: ReturnType<typeof read>) =>
	file.transcripts.map(({ title, messages }) => [title, ...messages.map(({ role, text }) => `${role}: ${text}`)]);

describe('agent logs', () => {
	test('Inspect: one conversation per sample, with its tokens, its calls and its failures', async () => {
		const real = read(await readFile(join(root, 'test/fixtures/inspect/arith-cot.json'), 'utf8'));
		assert.equal(real.transcripts.length, 5);
		assert.deepEqual(real.faults, []);
		const [question, answer] = real.transcripts[0]?.messages ?? [];
		assert.match(question?.text ?? '', /What is 17 \+ 25\?/);
		assert.equal(answer?.text, '42');
		assert.equal(answer?.thinking, '17 + 25\nis 42');
		assert.equal(answer?.usage?.prompt, 62);
		assert.equal(answer?.usage?.completion, 22);
		assert.equal(answer?.finishReason, 'stop');

		const made = read({
			eval: {},
			samples: [
				{
					...{ id: 3, epoch: 2, input: 'q', scores: null, attachments: { a1: 'a long question' } },
					error: { message: 'sandbox lost', traceback: '…' },
					messages: [
						{ role: 'user', content: 'attachment://a1' },
						{
							...{ role: 'assistant', content: '', id: 'm' },
							tool_calls: [{ id: 'c', function: 'bash', arguments: { cmd: 'ls' } }],
						},
						{
							role: 'tool',
							content: 'no',
							tool_call_id: 'c',
							function: 'bash',
							error: { type: 'timeout', message: 'late' },
						},
					],
					output: {
						choices: [{ message: { id: 'm' }, stop_reason: 'max_tokens' }],
						usage: { input_tokens: 5, output_tokens: 7 },
					},
				},
			],
		});
		const [transcript] = made.transcripts;
		assert.equal(transcript?.title, 'Sample 3, epoch 2');
		assert.equal(transcript?.messages[0]?.text, 'a long question');
		assert.deepEqual(
			[transcript?.messages[1]?.calls[0]?.name, transcript?.messages[1]?.finishReason],
			['bash', 'max_tokens'],
		);
		assert.deepEqual(transcript?.links, [{ message: 1, call: 0, results: [2] }]);
		assert.equal(transcript?.messages[2]?.result?.failed, true);
		assert.match(inWords(made.faults[0] ?? { place: null, message: '' }), /Sample 3, epoch 2 failed: sandbox lost/);
		assert.ok(transcript && checkTranscript(transcript).some(({ check }) => check === 'truncated'));
	});

	test('LangGraph: chunks from an update stream form one conversation', () => {
		const human = { type: 'human', content: 'hi' };
		const call = { type: 'ai', content: '', tool_calls: [{ id: 't', name: 'add', args: { a: 1 } }] };
		const result = { type: 'tool', content: '2', tool_call_id: 't', name: 'add' };
		const end = { type: 'ai', content: 'two' };
		const chunks = [
			{ ask: { messages: human } },
			{ agent: { messages: [call] } },
			{ tools: { messages: [result] } },
			{ agent: { messages: [end] } },
		];
		const wanted = [['Stream of updates', 'user: hi', 'assistant: ', 'tool: 2', 'assistant: two']];
		assert.deepEqual(shape(read(chunks)), wanted);
		assert.deepEqual(shape(read(lines(chunks))), wanted);
		assert.deepEqual(shape(read(lines(chunks.map((chunk) => ['updates', chunk])))), wanted);
		assert.deepEqual(shape(read(lines(chunks.map((chunk) => [['sub:1'], 'updates', chunk])))), wanted);
		assert.deepEqual(shape(read(lines(chunks.map((data) => ({ type: 'updates', ns: [], data }))))), wanted);
		const linked = read(lines(chunks)).transcripts[0];
		assert.deepEqual(linked?.links, [{ message: 1, call: 0, results: [2] }]);
		const printed = [
			"{'agent': {'messages': [AIMessage(content='', tool_calls=[{'name': 'add', 'args': {'a': 1}, 'id': 't', 'type': 'tool_call'}])]}}",
			"{'tools': {'messages': [ToolMessage(content='2', name='add', tool_call_id='t')]}}",
			"{'__interrupt__': ()}",
			"{'agent': {'steps': 3, 'messages': [AIMessage(content='two')]}}",
		].join('\n');
		assert.deepEqual(shape(read(printed)), [['Stream of updates', 'assistant: ', 'tool: 2', 'assistant: two']]);
	});

	test('OpenAI batches: the responses to each request, and failed requests', () => {
		const choice = (content: string, finish_reason = 'stop') => ({
			index: 0,
			message: { role: 'assistant', content },
			finish_reason,
		});
		const file = read(
			lines([
				{
					...{ id: 'batch_req_1', custom_id: 'one', error: null },
					response: {
						status_code: 200,
						body: { model: 'm', choices: [choice('42')], usage: { prompt_tokens: 3, completion_tokens: 4 } },
					},
				},
				{
					...{ id: 'batch_req_2', custom_id: 'two', error: null },
					response: { status_code: 200, body: { choices: [choice('a', 'length'), choice('b')] } },
				},
				{
					id: 'batch_req_3',
					custom_id: 'three',
					response: null,
					error: { code: 'batch_expired', message: 'too late' },
				},
				{
					id: 'batch_req_4',
					custom_id: 'four',
					response: { status_code: 429, body: { error: { message: 'slow down' } } },
					error: null,
				},
				{
					...{ id: 'batch_req_5', custom_id: 'five', error: null },
					response: {
						status_code: 200,
						body: { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'r' }] }] },
					},
				},
			]),
		);
		assert.deepEqual(shape(file), [
			['one', 'assistant: 42'],
			['two, choice 1', 'assistant: a'],
			['two, choice 2', 'assistant: b'],
			['five', 'assistant: r'],
		]);
		const [one] = file.transcripts[0]?.messages ?? [];
		assert.deepEqual([one?.usage?.prompt, one?.model, one?.finishReason], [3, 'm', 'stop']);
		assert.deepEqual(
			file.faults.map(({ message }) => message),
			['three failed: batch_expired: too late', 'four failed: slow down'],
		);
	});

	test('verifiers: one conversation per trace and per branch', async () => {
		const folder = join(root, 'test/fixtures/verifiers-v1/outputs/gsm8k--Qwen3-0.6B--null--a1b2c3');
		const text = await readFile(join(folder, 'traces.jsonl'), 'utf8');
		const real = read(text);
		assert.ok(real.transcripts.length >= text.trim().split('\n').length);
		assert.deepEqual(real.transcripts[0]?.messages.map(({ role }) => role).slice(0, 3), [
			'system',
			'user',
			'assistant',
		]);
		assert.ok(real.transcripts.some(({ messages }) => messages.some(({ usage }) => usage !== null)));
		const node = (content: string, parent: number | null, sampled = false) => ({
			message: { role: sampled ? 'assistant' : 'user', content },
			parent,
			sampled,
		});
		const made = read({
			id: 'e',
			errors: [],
			traces: [
				{ nodes: [node('q', null), node('a', 0, true), node('b', 0, true)], errors: [{ type: 'E', message: 'x' }] },
			],
		});
		assert.deepEqual(shape(made), [
			['e, branch 1', 'user: q', 'assistant: a'],
			['e, branch 2', 'user: q', 'assistant: b'],
		]);
		assert.equal(made.faults[0]?.message, 'e, branch 1 failed: E: x');
	});
});
