import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string, fields: object = {}) => ({ role: 'assistant', content, ...fields });
const step = (chat_completions: object[], fields: object = {}) => ({
	observation: null,
	model_response: (chat_completions.at(-1) as { content?: string })?.content ?? '',
	chat_completions,
	...fields,
});
const trajectory = (fields: object = {}) => ({
	name: 'solver',
	reward: 1,
	steps: [step([user('q'), assistant('a')])],
	...fields,
});
const episode = (fields: object = {}) => ({
	training_step: 1,
	episode_id: 'aaaa:0',
	task: { question: 'q', ground_truth: '4', idx: 3 },
	task_hash: '1234',
	is_correct: true,
	termination_reason: 'env_done',
	metrics: { acc: 1 },
	trajectories: [trajectory()],
	...fields,
});
const read = (...episodes: object[]) =>
	madeRun(
		Object.fromEntries(episodes.map((one, i) => [`episodes/train_step_1_epoch_0/episode_hash1_id${i}.json`, one])),
	);

describe('rLLM', () => {
	it('groups by the part of the episode id before the colon', async () => {
		const ids = ['a:b:0', 'a:b:1', 'a:c:0', 'plain', 'plain'];
		const { train } = await read(...ids.map((episode_id) => episode({ episode_id })));
		assert.deepEqual(groupsIn(train), [0, 0, 1, 2, 2]);
	});

	it('joins steps that repeat all earlier messages into one conversation', async () => {
		const first = [user('q'), assistant('look', { tool_calls: [{ id: 'c', name: 'f', arguments: '{}' }] })];
		const second = [...first, { role: 'tool', content: '4', tool_call_id: 'c' }, assistant('four')];
		const { train } = await read(episode({ trajectories: [trajectory({ steps: [step(first), step(second)] })] }));
		assert.deepEqual(train[0]?.prompt, [user('q')]);
		assert.equal(train[0]?.completion.length, 3);
		assert.equal(train[0]?.parents, undefined);
	});

	it('treats steps that start over as branches', async () => {
		const steps = [
			step([user('q'), assistant('a')]),
			step([user('q'), assistant('b')]),
			step([user('other'), assistant('c')]),
		];
		const { train } = await read(episode({ trajectories: [trajectory({ steps })] }));
		assert.deepEqual(train[0]?.completion, [assistant('a'), assistant('b'), user('other'), assistant('c')]);
		assert.deepEqual(train[0]?.parents, [null, null, null, 2]);
	});

	it('creates a rollout per trajectory, grouped by name', async () => {
		const both = [trajectory(), trajectory(), trajectory({ name: 'judge', reward: null })];
		const { train } = await read(
			episode({ trajectories: both }),
			episode({ episode_id: 'aaaa:1', trajectories: both }),
		);
		assert.deepEqual(groupsIn(train), [0, 0, 1, 0, 0, 1]);
		assert.deepEqual(
			train.map(({ extra }) => extra?.agent),
			['solver', 'solver', 'judge', 'solver', 'solver', 'judge'],
		);
		assert.equal(train[2]?.reward, null);
	});

	it('keeps a group together if only one episode has a judge, or one has no trajectories', async () => {
		const judged = [trajectory(), trajectory({ name: 'judge' })];
		for (const order of [judged, judged.toReversed()]) {
			const { train } = await read(
				episode({ trajectories: order }),
				episode({ episode_id: 'aaaa:1' }),
				episode({ episode_id: 'aaaa:2' }),
				episode({ episode_id: 'aaaa:3', trajectories: [] }),
			);
			const groups = Object.groupBy(train, ({ group }) => group);
			assert.deepEqual(
				Object.values(groups)
					.map((lines) => lines?.map(({ extra }) => extra?.agent ?? 'none'))
					.sort((a, b) => (a?.length ?? 0) - (b?.length ?? 0)),
				[['judge'], ['solver', 'solver', 'solver', 'none']],
			);
		}
	});

	it('shows an episode without trajectories as an unscored rollout', async () => {
		const { train } = await read(episode({ trajectories: [], termination_reason: null }));
		assert.equal(train[0]?.reward, null);
		assert.equal(train[0]?.prompt, 'q');
		assert.equal(train[0]?.completion, '');
	});

	it('parses a task in Python repr format', async () => {
		const task = "{'question': \"it's 2+2\", 'ground_truth': '4', 'idx': 9, 'more': None}";
		const bare = [trajectory({ steps: [step([], { model_response: 'a' })] })];
		const { train } = await read(
			episode({ task, trajectories: bare }),
			episode({ task: 'Task(id=3)', trajectories: bare }),
			episode({ task: "{'question': ", trajectories: bare }),
		);
		assert.deepEqual(train[0]?.prompt, [user("it's 2+2")]);
		assert.equal(train[0]?.answer, '4');
		assert.equal(train[0]?.row, 9);
		assert.deepEqual(train[1]?.prompt, [user('Task(id=3)')]);
		assert.deepEqual(train[2]?.prompt, [user("{'question': ")]);
	});

	it('does not repeat thinking that is also in the content', async () => {
		const chat = [user('q'), assistant('<think>\nhm\n</think>\n4', { reasoning: 'hm' })];
		const apart = [user('q'), assistant('4', { reasoning: 'hm' })];
		const { train } = await read(
			episode({ trajectories: [trajectory({ steps: [step(chat)] })] }),
			episode({ trajectories: [trajectory({ steps: [step(apart)] })] }),
		);
		assert.deepEqual(train[0]?.completion, [assistant('<think>\nhm\n</think>\n4')]);
		assert.deepEqual(train[1]?.completion, [assistant('4', { reasoning_content: 'hm' })]);
	});

	it('marks rollouts that a limit truncated', async () => {
		const { train } = await read(
			episode({ termination_reason: 'max_response_length_exceeded' }),
			episode({ is_correct: false }),
		);
		assert.deepEqual(
			train.map(({ truncated, extra }) => [truncated, extra?.correct]),
			[
				[true, true],
				[false, false],
			],
		);
	});

	it('records whether an answer is correct if no metric does', async () => {
		const { train } = await read(
			episode(),
			episode({ metrics: { steps: 2 }, is_correct: false }),
			episode({ metrics: {}, is_correct: null }),
		);
		assert.deepEqual(
			train.map(({ rewards }) => rewards),
			[{ acc: 1 }, { steps: 2, is_correct: 0 }, {}],
		);
	});

	it('does not mistake a batch summary for an episode', async () => {
		const { train, validation, metrics, faults } = await madeRun({
			'episodes/train_step_1_epoch_0/episode_hash1_id1.json': episode(),
			'episodes/train_step_1_epoch_0/batch_summary.json': { summary_stats: { accuracy: 0.25 } },
			'episodes/val_step_1_epoch_0/episode_hash1_id1.json': episode(),
			'episodes/val_step_1_epoch_0/batch_summary.json': { summary_stats: { accuracy: 0.5 } },
		});
		assert.equal(train.length, 1);
		assert.equal(validation.length, 1);
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values]),
			[[1, { 'train/accuracy': 0.25, 'eval/val/accuracy': 0.5 }]],
		);
		assert.deepEqual(faults, []);
	});

	it('reports files that are not episodes', async () => {
		const { faults } = await madeRun({
			'episodes/train_step_1_epoch_0/episode_a.json': '{"training_step": 1, ',
			'episodes/train_step_1_epoch_0/episode_b.json': {},
			'episodes/train_step_1_epoch_0/episode_c.json': episode({ trajectories: [5] }),
			'episodes/train_step_1_epoch_0/episode_d.json': '',
		});
		assert.deepEqual(
			faults.map(({ file, line, message }) => [file.at(-6), line, message]),
			[
				['a', null, 'invalid JSON'],
				['b', null, 'has no trajectories'],
				['c', null, 'has a trajectory that is not an object'],
				['d', null, 'empty'],
			],
		);
	});
});
