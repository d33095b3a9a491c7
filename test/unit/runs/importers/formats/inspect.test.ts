import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../../../../../src/protocol/rolloutLine.ts';
import { type Member, zipFile } from '../../../../support/zipFile.ts';
import { groupsIn, madeRun } from '../madeRun.ts';

const sample = (fields: object = {}) => ({
	id: 1,
	epoch: 1,
	target: '42',
	messages: [
		{ role: 'user', content: 'q', source: 'input' },
		{ role: 'assistant', content: 'a', source: 'generate' },
	],
	output: { model: 'm', choices: [{ stop_reason: 'stop' }] },
	scores: { match: { value: 'C' } },
	...fields,
});
const header = {
	version: 2,
	status: 'success',
	eval: { task: 'add', model: 'openai/m', packages: { inspect_ai: '0.3' } },
};
const log = (samples: readonly unknown[]) => ({ ...header, samples });
const member = (id: number | string, epoch: number, fields: object = {}): Member => ({
	name: `samples/${id}_epoch_${epoch}.json`,
	text: JSON.stringify(sample({ id, epoch, ...fields })),
	method: 93,
});
const archive = (...members: Member[]) =>
	zipFile([...members, { name: 'header.json', text: JSON.stringify(header), method: 93 }]);

describe('Inspect', () => {
	it('groups the epochs of a sample, separately for each log', async () => {
		const { run, record, train, faults } = await madeRun({
			'a.eval': archive(member(1, 1), member(2, 1), member(1, 2), member('x', 1)),
			'b.json': log([sample(), sample({ epoch: 2 })]),
			'notes.json': { other: 'file' },
		});
		assert.deepEqual(faults, []);
		assert.deepEqual(groupsIn(train), [0, 1, 0, 2, 3, 3]);
		assert.deepEqual(
			train.map(({ row, extra }) => [row, extra?.epoch, extra?.log]),
			[
				[1, 1, 'a.eval'],
				[2, 1, 'a.eval'],
				[1, 2, 'a.eval'],
				['x', 1, 'a.eval'],
				[1, 1, 'b.json'],
				[1, 2, 'b.json'],
			],
		);
		assert.equal(run.hasSteps, false);
		assert.deepEqual(record.versions, { task: 'add', model: 'openai/m', inspect_ai: '0.3' });
	});

	it('converts score values as Inspect does, and uses the first scorer as the reward', async () => {
		const values = ['C', 'I', 'P', 'N', 0.25, true, 'yes', '1.5', 'word', null, [1, 2]];
		const { train } = await madeRun({
			'a.json': log(values.map((value) => sample({ scores: { first: { value }, second: { value: 3 } } }))),
		});
		assert.deepEqual(
			train.map(({ reward }) => reward),
			[1, 0, 0.5, 0, 0.25, 1, 1, 1.5, null, null, null],
		);
		assert.deepEqual(train[2]?.rewards, { first: 0.5, second: 3 });
		const several = { scorer: { value: { right: 'C', style: 0.5 } } };
		const { train: keyed } = await madeRun({ 'a.json': log([sample({ scores: several }), sample({ scores: null })]) });
		assert.deepEqual(keyed[0]?.rewards, { 'scorer/right': 1, 'scorer/style': 0.5 });
		assert.deepEqual(
			keyed.map(({ reward }) => reward),
			[1, null],
		);
	});

	it('reads reasoning, tool calls and attachments, and keeps examples in the prompt', async () => {
		const hash = '0'.repeat(32);
		const messages = [
			{ role: 'system', content: `attachment://${hash}`, source: 'input' },
			{ role: 'assistant', content: 'an example', source: 'input' },
			{
				role: 'user',
				content: [
					{ type: 'text', text: 'q' },
					{ type: 'image', image: 'x' },
				],
				source: 'input',
			},
			{
				role: 'assistant',
				source: 'generate',
				content: [
					{ type: 'reasoning', reasoning: 'hm' },
					{ type: 'text', text: 'calling' },
				],
				tool_calls: [{ id: 'c1', function: 'add', arguments: { x: 1 } }],
			},
			{ role: 'tool', content: '2', tool_call_id: 'c1', function: 'add', error: { type: 'timeout', message: 'slow' } },
		];
		const { train } = await madeRun({ 'a.json': log([sample({ messages, attachments: { [hash]: 'a long text' } })]) });
		const [line] = train;
		assert.deepEqual(
			(line?.prompt as Message[] | undefined)?.map(({ role, content }) => [role, content]),
			[
				['system', 'a long text'],
				['assistant', 'an example'],
				['user', 'q\n[image]'],
			],
		);
		assert.deepEqual(line?.completion, [
			{
				role: 'assistant',
				content: 'calling',
				reasoning_content: 'hm',
				tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: { x: 1 } } }],
			},
			{ role: 'tool', content: '2', tool_call_id: 'c1', name: 'add', error: 'slow' },
		]);
	});

	it('shows failed and limited samples', async () => {
		const failed = { messages: [], input: 'q', output: {}, scores: {}, error: { message: 'Broken', traceback: '...' } };
		const { train } = await madeRun({
			'a.json': log([
				sample(failed),
				sample({ limit: { type: 'token', limit: 10 } }),
				sample({ output: { choices: [{ stop_reason: 'max_tokens' }] } }),
				sample({ output: { choices: [{ stop_reason: 'unknown' }] } }),
				sample(),
			]),
		});
		assert.deepEqual(
			train.map(({ truncated }) => truncated),
			[null, true, true, null, false],
		);
		assert.deepEqual(train[0]?.extra?.errors, ['Broken']);
		assert.deepEqual([train[0]?.completion, train[0]?.reward], ['', null]);
		assert.deepEqual(train[0]?.prompt, [{ role: 'user', content: 'q' }]);
	});

	it('reads tokens if log-probabilities were requested', async () => {
		const logprobs = {
			content: [
				{ token: 'a', logprob: -0.5 },
				{ token: 'b', logprob: -1 },
			],
		};
		const { train } = await madeRun({
			'a.json': log([sample({ output: { choices: [{ stop_reason: 'stop', logprobs }] } })]),
		});
		assert.deepEqual(train[0]?.tokens, { text: ['a', 'b'], logprob: [-0.5, -1] });
	});

	it('reads what is intact in a damaged archive, and reports the rest', async () => {
		const broken: Member = { ...member(2, 1), text: '{"id": 2,' };
		const whole = archive(member(1, 1), broken, member(3, 1), { ...member(4, 1), body: Buffer.from('x') });
		const { train, faults } = await madeRun({ 'a.eval': whole });
		assert.deepEqual(
			train.map(({ row }) => row),
			[1, 3],
		);
		assert.deepEqual(
			faults.map(({ message }) => message.replace(/: .*/s, '')),
			['samples/2_epoch_1.json is invalid JSON', 'samples/4_epoch_1.json cannot be decompressed'],
		);
		const { train: found, faults: missing } = await madeRun({ 'a.eval': whole.subarray(0, whole.length - 60) });
		assert.equal(found.length, 2);
		assert.match(missing.at(-1)?.message ?? '', /damaged zip archive \(it has no end record\): 4 samples were found/);
	});

	it('counts a sample only once if it was written twice, and reports samples without an id', async () => {
		const { train, faults } = await madeRun({
			'a.eval': archive(member(1, 1), member(1, 1, { scores: { match: { value: 'I' } } })),
			'b.json': log([sample({ id: null }), sample(), 5]),
		});
		assert.deepEqual(
			train.map(({ reward }) => reward),
			[0, 1],
		);
		assert.deepEqual(
			faults.map(({ message }) => message),
			['sample 1 has no id', 'sample 3 is not an object'],
		);
	});

	it('reads the samples of a JSON log that is too large to be read at once', async () => {
		const entries = [
			sample(),
			5,
			sample({ epoch: 2, id: 'a"]},{' }),
			sample({ epoch: 3, scores: { match: { value: 'I' } } }),
		];
		const short = JSON.stringify(log(entries));
		const at = short.indexOf('{"id":"a');
		const long = (text: string) => Buffer.from(`${text.slice(0, at)}${' '.repeat(65 << 20)}${text.slice(at)}`);
		const small = await madeRun({ 'a.json': short });
		const large = await madeRun({ 'a.json': long(short) });
		assert.equal(small.train.length, 3);
		assert.deepEqual(large.train, small.train);
		assert.deepEqual(large.record.foreign?.notes, small.record.foreign?.notes);
		assert.deepEqual(large.record.versions, small.record.versions);
		const messages = ({ faults }: typeof small) => faults.map(({ message }) => message);
		assert.deepEqual(messages(large), ['sample 2 is not an object']);
		assert.deepEqual(messages(large), messages(small));
		// A log that is truncated within its last sample still has the others.
		const cut = await madeRun({ 'a.json': long(short.slice(0, -20)) });
		assert.deepEqual(cut.train, small.train.slice(0, 2));
		assert.deepEqual(messages(cut), ['sample 2 is not an object', 'invalid JSON: it ends too early']);
	});

	it('states what Inspect computed, or that it did not finish', async () => {
		const results = { scores: [{ name: 'match', metrics: { accuracy: { value: 0.5 }, stderr: { value: 0.1 } } }] };
		const start: Member = { name: '_journal/start.json', text: JSON.stringify({ eval: { task: 'open' } }) };
		const { record } = await madeRun({
			'a.json': { ...log([sample()]), results },
			'b.eval': zipFile([start, member(1, 1)]),
		});
		const notes = record.foreign?.notes ?? [];
		assert.ok(notes.includes("Inspect's result for add (openai/m): match accuracy 0.5."), notes.join('\n'));
		assert.ok(notes.includes('Inspect recorded no result for open: its status is started.'), notes.join('\n'));
	});
});
