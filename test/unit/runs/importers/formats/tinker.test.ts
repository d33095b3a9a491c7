import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

const step = (fields: object = {}) => ({
	ob_len: 10,
	ac_len: 5,
	reward: 1,
	metrics: { correct: 1 },
	logs: {},
	...fields,
});
const summary = (group_idx: number, traj_idx: number, fields: object = {}) => ({
	group_idx,
	traj_idx,
	total_reward: 1,
	final_reward: 0,
	trajectory_metrics: {},
	steps: [step()],
	...fields,
});
const tag = (name: string, ...children: unknown[]) => ({ tag: name, attrs: {}, children });
const section = (title: string, ...children: unknown[]) => tag('section', tag('h3', title), tag('div', ...children));
const table = (values: Readonly<Record<string, string>>) =>
	tag('table', ...Object.entries(values).map(([key, value]) => tag('tr', tag('td', key), tag('td', value))));
const conversation = (role: string, content: string) => ({
	...tag('div'),
	data: { type: 'conversation', messages: [{ role, content }] },
});

interface Logged {
	readonly text: string;
	readonly reward: string;
}
/** Builds the log section for a group: attempts in completion order, then trajectories in order. */
const groupLog = (prompt: string, attempts: readonly Logged[], turns: readonly [said: number, reward: string][]) =>
	section(
		'Group Rollout',
		...attempts.flatMap(({ text, reward }) => [
			section('Prompt', conversation('user', prompt)),
			section('Policy Response', conversation('assistant', text)),
			section('Reward', table({ reference_answer: '4', reward })),
		]),
		section(
			'Trajectory Details',
			...turns.map(([said, reward], at) =>
				section(
					`Trajectory ${at} Episode`,
					section(
						'Turn 1',
						table({ ob_len: '10', ac_len: `${said}`, step_reward: reward }),
						table({ correct: '1.000' }),
					),
				),
			),
		),
	);
const read = (rows: readonly object[], ...groups: object[]) =>
	madeRun({
		'iteration_000003/train_rollout_summaries.jsonl': rows,
		...(groups.length > 0 && { 'iteration_000003/train_logtree.json': { title: 't', root: tag('body', ...groups) } }),
	});
const texts = (lines: readonly { completion: string | readonly { content: string | null }[] }[]) =>
	lines.map(({ completion }) => (typeof completion === 'string' ? completion : completion[0]?.content));

describe('Tinker', () => {
	it('groups by number, and uses the recorded total reward', async () => {
		const text = [summary(0, 0), summary(1, 0), summary(0, 1, { total_reward: 2.5, final_reward: 1.5 })]
			.map((row) => JSON.stringify(row))
			.join('\n')
			.replace('"total_reward":1', '"total_reward": NaN');
		const { train } = await madeRun({ 'iteration_000003/train_rollout_summaries.jsonl': text });
		assert.deepEqual(groupsIn(train), [0, 1, 0]);
		assert.deepEqual(
			train.map(({ reward, step }) => [reward, step]),
			[
				[null, 3],
				[1, 3],
				[2.5, 3],
			],
		);
		assert.equal(train[2]?.extra?.groupReward, 1.5);
	});

	it('averages a metric over the steps that have it, and sums lengths', async () => {
		const steps = [step({ metrics: { correct: 1, format: 0 } }), step({ ac_len: 7, metrics: { correct: 0 } })];
		const { train } = await read([summary(0, 0, { steps, trajectory_metrics: { solved: true } })]);
		assert.deepEqual(train[0]?.rewards, { correct: 0.5, format: 0, solved: 1 });
		assert.equal(train[0]?.extra?.length, 12);
		assert.equal(train[0]?.extra?.turns, 2);
	});

	it('marks a text that was not recorded', async () => {
		const { train } = await read([summary(0, 0)]);
		assert.deepEqual([train[0]?.prompt, train[0]?.completion, train[0]?.extra?.text], ['', '', 'not recorded']);
	});

	it('matches texts by reward if attempts were logged in completion order', async () => {
		const rows = ['1.000', '0.000', '0.500'].map((reward, at) =>
			summary(0, at, { total_reward: Number(reward), steps: [step({ ac_len: 5 + at, reward: Number(reward) })] }),
		);
		const attempts = ['0.500', '1.000', '0.000'].map((reward) => ({ text: `text of ${reward}`, reward }));
		const { train } = await read(
			rows,
			groupLog('q', attempts, [
				[5, '1.000'],
				[6, '0.000'],
				[7, '0.500'],
			]),
		);
		assert.deepEqual(texts(train), ['text of 1.000', 'text of 0.000', 'text of 0.500']);
		assert.deepEqual(train[0]?.prompt, [{ role: 'user', content: 'q' }]);
	});

	it('matches texts with equal rewards by length', async () => {
		const rows = [40, 5, 20].map((ac_len, at) => summary(0, at, { steps: [step({ ac_len })] }));
		const long = 'x'.repeat(800);
		const attempts = ['short'.repeat(20), 'y'.repeat(400), long].map((text) => ({ text, reward: '1.000' }));
		const { train } = await read(
			rows,
			groupLog('q', attempts, [
				[40, '1.000'],
				[5, '1.000'],
				[20, '1.000'],
			]),
		);
		assert.deepEqual(texts(train), [long, attempts[0]?.text, attempts[1]?.text]);
	});

	it('finds the section of a group even if earlier groups were filtered out', async () => {
		const flat = groupLog('flat', [{ text: 'gone', reward: '0.000' }], [[9, '0.000']]);
		const kept = groupLog('kept', [{ text: 'here', reward: '1.000' }], [[5, '1.000']]);
		const { train } = await read([summary(0, 0)], flat, kept);
		assert.deepEqual(texts(train), ['here']);
	});

	it('shows no text rather than text that could belong to another rollout', async () => {
		const one = (prompt: string) => groupLog(prompt, [{ text: prompt, reward: '1.000' }], [[5, '1.000']]);
		const flat = groupLog('flat', [{ text: 'gone', reward: '0.000' }], [[9, '0.000']]);
		const { train } = await read([summary(0, 0)], flat, one('a'), one('b'));
		assert.deepEqual(texts(train), ['']);
		const missing = groupLog(
			'q',
			[{ text: 'a', reward: '1.000' }],
			[
				[5, '1.000'],
				[6, '1.000'],
			],
		);
		const incomplete = await read([summary(0, 0), summary(0, 1, { steps: [step({ ac_len: 6 })] })], missing);
		assert.deepEqual(texts(incomplete.train), ['', '']);
	});

	it('reads evaluations by name, with separate groups', async () => {
		const { train, validation } = await madeRun({
			'iteration_000001/train_rollout_summaries.jsonl': [summary(0, 0)],
			'iteration_000001/eval_gsm8k_rollout_summaries.jsonl': [summary(0, 0, { sampling_client_step: null })],
			'iteration_000001/eval_math_rollout_summaries.jsonl': [summary(0, 0)],
		});
		assert.equal(train.length, 1);
		assert.deepEqual(
			validation.map(({ stage, group }) => [stage, group]),
			[
				['eval/gsm8k', 0],
				['eval/math', 1],
			],
		);
	});

	it('tolerates malformed logs', async () => {
		const deep = `${'{"tag": "section", "children": ['.repeat(50_000)}${']}'.repeat(50_000)}`;
		for (const log of [deep, { root: null }, [], { root: { tag: 'section', children: { 0: 'x' } } }, '"x"']) {
			const { train } = await madeRun({
				'iteration_000003/train_rollout_summaries.jsonl': [summary(0, 0)],
				'iteration_000003/train_logtree.json': log ?? '',
			});
			assert.equal(train.length, 1);
		}
	});

	it('reports what it cannot read', async () => {
		const { train, faults } = await read([summary(0, 0), { group_idx: 0 }, { group_idx: 0, traj_idx: 1 }, [1]]);
		assert.equal(train.length, 1);
		assert.deepEqual(
			faults.map(({ message }) => message),
			['has no group_idx or traj_idx', 'has no total_reward', 'is not an object'],
		);
	});
});
