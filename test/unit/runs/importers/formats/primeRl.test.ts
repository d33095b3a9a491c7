import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { RolloutLine } from '../../../../../src/protocol/rolloutLine.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { zstdFile } from '../../../../support/zstdFile.ts';
import { groupsIn, madeRun, writeFiles } from '../madeRun.ts';

const all = 'rollouts/step_1/train/all/traces.jsonl';
const effective = 'rollouts/step_1/train/effective/traces.jsonl';

const node = (role: string, content: unknown, fields: object = {}) => ({
	message: { role, content },
	sampled: role === 'assistant',
	token_ids: [],
	mask: [],
	logprobs: [],
	...fields,
});
const trace = (fields: object = {}) => ({
	id: 't1',
	task: { data: { idx: 3, answer: '4' }, key: 'k' },
	agent: { name: 'agent', trainable: true },
	nodes: [node('user', '2+2?'), node('assistant', '4', { parent: 0 })],
	calls: [],
	rewards: { right: { score: 1, weight: 1 } },
	metrics: {},
	info: {},
	...fields,
});
const episode = (traces: object[], fields: object = {}) => ({ id: 'e', group: { id: 'g' }, traces, ...fields });

const contents = (messages: RolloutLine['prompt'] | undefined) =>
	Array.isArray(messages) ? messages.map(({ content }) => content) : [];

describe('prime-rl', () => {
	it('weights rewards, skips null ones, and leaves a rollout unscored if it has none', async () => {
		const rewards = { right: { score: 1, weight: 0.5 }, style: { score: -2, weight: 2 }, late: null };
		const { train } = await madeRun({
			[all]: [episode([trace({ rewards })]), episode([trace({ id: 't2', rewards: { right: null, style: null } })])],
		});
		assert.equal(train[0]?.reward, -3.5);
		assert.deepEqual(train[0]?.rewards, { right: 1, style: -2, late: null });
		assert.equal(train[1]?.reward, null);
	});

	it('uses only the trained tokens, each with its log-probability and credit', async () => {
		const sampled = {
			parent: 0,
			token_ids: [7, 8, 9, 10],
			mask: [false, true, true, false],
			logprobs: [-0.1, -0.2],
			reference_logprobs: [-0.3, -0.4],
		};
		const nodes = [node('user', 'q', { token_ids: [1, 2], mask: [false, false] }), node('assistant', 'a', sampled)];
		const credited = [nodes[0], { ...nodes[1], advantages: [0.5, -0.5] }];
		const { train } = await madeRun({
			[all]: [episode([trace({ nodes })])],
			[effective]: [episode([trace({ nodes: credited, info: { advantage: 0.25 } })])],
		});
		assert.equal(train.length, 1);
		assert.deepEqual(train[0]?.tokens, {
			text: ['#8', '#9'],
			logprob: [-0.1, -0.2],
			refLogprob: [-0.3, -0.4],
			advantage: [0.5, -0.5],
		});
		assert.equal(train[0]?.advantage, 0.25);
	});

	it('omits log-probabilities if their count differs from the token count', async () => {
		const odd = { parent: 0, token_ids: [8, 9], mask: [true, true], logprobs: [-0.1] };
		const torn = { parent: 0, token_ids: [8, 9], mask: [true] };
		const { train } = await madeRun({
			[all]: [odd, torn].map((fields, i) =>
				episode([trace({ id: `t${i}`, nodes: [node('user', 'q'), node('assistant', 'a', fields)] })]),
			),
		});
		assert.deepEqual(train[0]?.tokens, { text: ['#8', '#9'], logprob: [null, null] });
		assert.equal(train[1]?.tokens, undefined);
	});

	it('keeps branches: the completion contains all of them, with the parent of each message', async () => {
		const nodes = [
			node('system', 's'),
			node('user', 'q', { parent: 0 }),
			node('assistant', 'a', { parent: 1 }),
			node('user', 'more', { parent: 2 }),
			node('assistant', 'b', { parent: 3 }),
			node('user', 'summary', { parent: 1 }),
			node('assistant', 'c', { parent: 5 }),
		];
		const { train } = await madeRun({ [all]: [episode([trace({ nodes })])] });
		assert.deepEqual(contents(train[0]?.prompt), ['s', 'q']);
		assert.deepEqual(contents(train[0]?.completion), ['a', 'more', 'b', 'summary', 'c']);
		assert.deepEqual(train[0]?.parents, [null, 0, 1, null, 3]);
	});

	it('keeps thinking, calls and results in chat completion format', async () => {
		const call = { id: 'c1', name: 'python', arguments: '{"code": "1"}' };
		const nodes = [
			node('user', [
				{ type: 'text', text: 'look' },
				{ type: 'image_url', image_url: { url: 'data:x' } },
			]),
			{ parent: 0, sampled: true, message: { role: 'assistant', reasoning_content: 'hm', tool_calls: [call] } },
			{ parent: 1, message: { role: 'tool', tool_call_id: 'c1', content: '1' } },
			node('assistant', 'done', { parent: 2 }),
		];
		const { train } = await madeRun({ [all]: [episode([trace({ nodes })])] });
		assert.deepEqual(train[0]?.prompt, [{ role: 'user', content: 'look\n[image]' }]);
		assert.deepEqual(train[0]?.completion, [
			{
				role: 'assistant',
				content: null,
				reasoning_content: 'hm',
				tool_calls: [{ id: 'c1', type: 'function', function: { name: 'python', arguments: '{"code": "1"}' } }],
			},
			{ role: 'tool', content: '1', tool_call_id: 'c1' },
			{ role: 'assistant', content: 'done' },
		]);
		assert.equal(train[0]?.parents, undefined);
	});

	it('creates one rollout per trained agent, and lists the others next to it', async () => {
		const judge = trace({ id: 'j', agent: { name: 'judge', trainable: false }, rewards: {} });
		const proposer = trace({ id: 'p', agent: { name: 'proposer', trainable: true } });
		const { train } = await madeRun({
			[all]: [episode([trace(), judge]), episode([trace({ id: 't2' }), proposer])],
		});
		assert.equal(train.length, 3);
		assert.deepEqual(train[0]?.extra?.others, [{ agent: 'judge', reward: null, reply: '4' }]);
		// Solvers and proposers answer different prompts.
		assert.equal(new Set(groupsIn(train.slice(1))).size, 2);
	});

	it('shows an episode that failed before its first message as unscored, in its group', async () => {
		const failed = episode([], {
			ok: false,
			task: { data: { prompt: '2+2?' } },
			errors: [{ type: 'TimeoutError', message: 'no sandbox' }],
		});
		const { train, faults } = await madeRun({ [all]: [episode([trace()]), failed] });
		assert.deepEqual(groupsIn(train), [0, 0]);
		assert.equal(train[1]?.reward, null);
		assert.equal(train[1]?.prompt, '2+2?');
		assert.deepEqual(train[1]?.extra, { errors: ['TimeoutError: no sandbox'], failed: 'before its first message' });
		assert.deepEqual(faults, []);
	});

	it('marks a rollout as truncated by a limit or by its last call, as verifiers does', async () => {
		const traces = [
			trace({ stop_condition: 'max_turns' }),
			trace({ id: 't2', calls: [{ finish_reason: 'length' }] }),
			trace({ id: 't3', calls: [{ finish_reason: 'length' }, { finish_reason: 'stop' }] }),
			trace({ id: 't4', calls: [{ finish_reason: 'length' }, { finish_reason: null, error: { type: 'x' } }] }),
		];
		const { train } = await madeRun({ [all]: traces.map((one) => episode([one])) });
		assert.deepEqual(
			train.map(({ truncated }) => truncated),
			[true, true, false, true],
		);
	});

	it('reads the trained subset if there is nothing else', async () => {
		const { train } = await madeRun({ [effective]: [episode([trace({ info: { advantage: 2 } })])] });
		assert.deepEqual(
			train.map(({ advantage }) => advantage),
			[2],
		);
	});

	it('reads rows in the older layout, and single traces under the same name', async () => {
		const rows = [
			{ example_id: 1, prompt: 'q', completion: 'a', reward: 1, metrics: { right: 1 }, advantage: 0.5 },
			{ ...trace({ id: 'x' }), info: { group_id: 'g9' } },
		];
		const { train, validation } = await madeRun({
			'rollouts/step_4/train_rollouts.jsonl': rows,
			'rollouts/step_4/eval_rollouts.jsonl': rows.slice(0, 1),
		});
		assert.deepEqual(
			train.map(({ step, reward, advantage }) => [step, reward, advantage]),
			[
				[4, 1, 0.5],
				[4, 1, null],
			],
		);
		assert.equal(validation.length, 1);
	});

	it('reads the latest layout, whose rows contain steps and task types', async () => {
		const at = (step: number, type: string, id: string) =>
			episode([trace({ id })], { run: { work: { type, step } }, group: { id: `${step}` } });
		const { run, train, validation, metrics } = await madeRun({
			'monitors/file/traces/stream.jsonl': [
				at(1, 'train', 'a'),
				at(2, 'train', 'b'),
				at(2, 'eval', 'c'),
				at(1, 'train', 'd'),
			],
			'monitors/file/traces/stream.index.jsonl': [{ id: 'a', offset: 0 }],
			'monitors/file/traces/annotations/trainer.jsonl': [{ trace_id: 'a' }],
			'monitors/file/metrics.jsonl': [{ step: 1, time: 5, 'optim/loss': 2 }],
		});
		assert.deepEqual(
			train.map(({ step, group, index }) => [step, group, index]),
			[
				[1, 0, 0],
				[1, 0, 1],
				[2, 0, 0],
			],
		);
		assert.deepEqual(
			validation.map(({ step }) => step),
			[2],
		);
		assert.deepEqual(
			metrics.map(({ values }) => values),
			[{ loss: 2 }],
		);
		assert.deepEqual(run.faults, []);
	});

	it('merges the rows that the orchestrator and the trainer append for one step', async () => {
		const { metrics } = await madeRun({
			[all]: [episode([trace()])],
			'metrics.jsonl': [
				{ step: 1, time: 10, 'train/agg/all/agent/reward/mean': 0.5 },
				{ step: 1, time: 12, 'optim/loss': 0.25 },
				{ step: 2, time: 20, 'optim/loss': 0.125 },
			],
		});
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values]),
			[
				[1, { reward: 0.5, loss: 0.25 }],
				[2, { loss: 0.125 }],
			],
		);
	});

	it('reports what it cannot read', async () => {
		const { train, faults } = await madeRun({
			[all]: [episode([trace({ nodes: [{ message: { content: 'x' } }] })]), { id: 'e' }, episode([trace()])],
		});
		assert.equal(train.length, 1);
		assert.deepEqual(
			faults.map(({ line, message }) => [line, message]),
			[
				[1, 'has a node without a message'],
				[2, 'has no traces'],
			],
		);
	});

	it('loses only credit if the trained subset is unreadable, and reports it', async () => {
		const { train, faults } = await madeRun({ [all]: [episode([trace()])], [effective]: '{"traces": [\n' });
		assert.equal(train.length, 1);
		assert.deepEqual(
			faults.map(({ file, line }) => [file, line]),
			[[effective, 1]],
		);
	});

	const stream = (chunk: number) => `monitors/file/traces/stream/0000${chunk}.jsonl`;
	const updates = (producer: string) => `monitors/file/traces/annotations/${producer}/00000.jsonl`;
	const jsonl = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`);
	const arrived = (id: string, step: number, kind: string, fields: object = {}) =>
		episode([trace({ id, info: { kind, arrival: { step, time: 1 } }, ...fields })], {
			run: { work: { type: kind, step: 0 } },
		});

	it('reads streams in numbered files, compressed or not, and uses the step at which rollouts arrived', async () => {
		const { run, record, train, validation } = await madeRun({
			[`${stream(0)}.zst`]: zstdFile(jsonl([arrived('a', 1, 'train'), arrived('b', 2, 'train')]), true),
			// The original of a chunk that has just been compressed.
			[stream(1)]: [arrived('c', 2, 'train'), arrived('d', 3, 'eval')],
			[`${stream(1)}.zst`]: zstdFile(jsonl([arrived('c', 2, 'train'), arrived('d', 3, 'eval')])),
			[`${stream(1)}.zst.tmp`]: 'in progress',
			[stream(2)]: [arrived('e', 3, 'train')],
			'monitors/file/traces/stream.index.jsonl': [{ id: 'a', chunk: 0, offset: 0 }],
			'monitors/file/traces/live/f.jsonl': [{ open: {}, trace: 'f' }],
			'monitors/file/traces/live/pending/g.json': {},
			'monitors/file/metrics.jsonl': [{ step: null, time: 1, queued: 2 }],
		});
		assert.deepEqual(run.faults, []);
		assert.deepEqual(
			train.map(({ step, index }) => [step, index]),
			[
				[1, 0],
				[2, 0],
				[2, 1],
				[3, 0],
			],
		);
		assert.deepEqual(
			validation.map(({ step }) => step),
			[3],
		);
		const notes = record.foreign?.notes ?? [];
		assert.ok(notes.some((note) => note.startsWith('1 rollout was in flight')));
	});

	it('assigns an unreadable line to the step of the rollout before it, and lists no steps of the other split', async () => {
		const folder = await mkdtemp(join(tmpdir(), 'prime-rl-'));
		try {
			const rows = [arrived('a', 4, 'train'), 'oops', arrived('b', 5, 'eval'), 'oops', { id: 'e' }];
			const text = rows.map((row) => `${row === 'oops' ? '{oops' : JSON.stringify(row)}\n`).join('');
			await writeFiles(folder, { [stream(0)]: text });
			const run = await openRun(folder);
			// The order in which splits are read does not matter.
			assert.deepEqual(await run.steps('validation'), [5]);
			assert.deepEqual(await run.steps('train'), [4]);
			const numbers = async (step: number, split: 'train' | 'validation') => {
				const read: (number | null)[] = [];
				const opened = await run.open(step, split);
				for await (const { fault } of opened.rollouts()) read.push(fault?.line ?? null);
				await opened.close();
				return read;
			};
			assert.deepEqual(await numbers(4, 'train'), [null, 2, 5]);
			assert.deepEqual(await numbers(5, 'validation'), [null, 4]);
			assert.equal(run.faults.length, 3);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});

	it('adds annotations to the trained tokens of their branch', async () => {
		const sampled = (parent: number, ids: number[], mask: boolean[]) =>
			node('assistant', 'a', { parent, token_ids: ids, mask, logprobs: mask.filter(Boolean).map(() => -1) });
		// Two branches after the first answer: 0-1-2-3 and 0-1-4.
		const nodes = [
			node('user', 'q', { token_ids: [1, 2], mask: [false, false] }),
			sampled(0, [3, 4], [false, true]),
			node('user', 'more', { parent: 1, token_ids: [5], mask: [false] }),
			sampled(2, [6, 7], [true, true]),
			sampled(1, [8], [true]),
		];
		const branches = [
			{ index: 0, advantages: [0, 0, 0, 0.5, 0, 0.25, 0.75], entropies: [null, null, null, 2, null, 1, null] },
			{ index: 1, advantages: [0, 0, 0, 0.5, -1], trainer_logprobs: [null, null, null, -0.5, -0.25] },
			{ index: 9, advantages: [1] },
		];
		const { run, train } = await madeRun({
			[stream(0)]: [arrived('a', 1, 'train', { nodes }), arrived('b', 1, 'train')],
			[`${updates('orch')}.zst`]: zstdFile(
				jsonl([
					{ version: 1, trace_id: 'a', info: { effective: true, advantage: 0.125 }, branches: branches.slice(0, 1) },
					{ version: 1, trace_id: 'gone', info: { advantage: 9 } },
				]),
			),
			[updates('trainer')]: [{ version: 1, trace_id: 'a', info: {}, branches: branches.slice(1) }, { version: 1 }],
			'monitors/file/traces/annotations/trainer.index.jsonl': [{ trace_id: 'a', info: { advantage: 5 } }],
		});
		assert.deepEqual(
			train.map(({ advantage }) => advantage),
			[0.125, null],
		);
		assert.deepEqual(train[0]?.tokens, {
			text: ['#4', '#6', '#7', '#8'],
			logprob: [-1, -1, -1, -1],
			oldLogprob: [-0.5, null, null, -0.25],
			// A node takes a stream only if all its trained tokens have values.
			entropy: [2, null, null, null],
			advantage: [0.5, 0.25, 0.75, -1],
		});
		assert.deepEqual(
			run.faults.map(({ file, line, message }) => [file, line, message]),
			[[updates('trainer'), 2, 'does not refer to a rollout']],
		);
	});

	it('reads what is intact in a truncated chunk, and reports the rest', async () => {
		const rows = jsonl([arrived('a', 1, 'train'), arrived('b', 1, 'train')]);
		const whole = zstdFile([rows[0] ?? '', rows[1] ?? '']);
		const { train, faults } = await madeRun({ [`${stream(0)}.zst`]: whole.subarray(0, whole.length - 5) });
		assert.equal(train.length, 1);
		assert.equal(faults.length, 1);
		assert.match(faults[0]?.message ?? '', /^the compressed file is truncated/);
	});
});
