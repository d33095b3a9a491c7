import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

const place = 'dumped_evals/global_step_5_evals';
const row = (fields: object) => ({ input_prompt: 'p', output_response: 'o', score: 1, stop_reason: 'stop', ...fields });
const read = (...rows: object[]) => madeRun({ [`${place}/gsm8k.jsonl`]: rows });

describe('SkyRL', () => {
	it('sums token-level scores', async () => {
		const { train } = await read(
			row({ score: [0, 0.25, 0.5] }),
			row({ score: [0, null] }),
			row({ score: null }),
			row({ score: [] }),
		);
		assert.deepEqual(
			train.map(({ reward }) => reward),
			[0.75, 0, null, null],
		);
	});

	it('reads a standalone evaluation, alone or alongside those of training steps', async () => {
		const alone = {
			'dumped_evals/eval_only/gsm8k.jsonl': [row({}), row({})],
			'dumped_evals/eval_only/aggregated_results.jsonl': [{ 'eval/gsm8k/avg_score': 1 }],
		};
		const one = await madeRun(alone);
		assert.equal(one.run.format, 'skyrl-eval');
		assert.deepEqual(
			one.train.map(({ step, stage, group }) => [step, stage, group]),
			[null, null].map((step) => [step, 'validation', 0]),
		);
		assert.deepEqual(one.metrics, []);
		assert.ok(one.record.foreign?.notes.includes("SkyRL's means: eval/gsm8k/avg_score 1."));
		assert.equal(one.record.step, null);
		const files = {
			...alone,
			[`${place}/gsm8k.jsonl`]: [row({})],
			'dumped_evals/global_step_0_evals/gsm8k.jsonl': [row({})],
		};
		const during = await madeRun(files);
		assert.deepEqual(
			during.train.map(({ step }) => step),
			[0, 5],
		);
		assert.equal(during.record.foreign?.notes.filter((note) => /SkyRL, standalone evaluation/.test(note)).length, 1);
		const standalone = await madeRun(files, 'skyrl-eval');
		assert.deepEqual(
			standalone.train.map(({ step }) => step),
			[null, null],
		);
	});

	it('groups identical prompts from the same data source', async () => {
		const { train } = await madeRun({
			[`${place}/a.jsonl`]: [
				row({ data_source: 'a' }),
				row({ data_source: 'a', input_prompt: 'q' }),
				row({ data_source: 'a' }),
			],
			[`${place}/b.jsonl`]: [row({ data_source: 'b' })],
		});
		assert.deepEqual(groupsIn(train), [0, 1, 0, 2]);
	});

	it('takes the name of a source from the rows rather than the file name, which has _ in place of /', async () => {
		const { train } = await madeRun({
			[`${place}/openai_gsm8k.jsonl`]: [row({ data_source: 'openai/gsm8k' }), row({})],
		});
		assert.equal(train[0]?.extra?.source, 'openai/gsm8k');
		assert.equal(train[1]?.extra?.source, 'openai_gsm8k');
	});

	it('marks truncated rollouts if the stop reason is known', async () => {
		const { train } = await read(
			row({ stop_reason: 'length' }),
			row({ stop_reason: null }),
			row({ stop_reason: 'stop' }),
		);
		assert.deepEqual(
			train.map(({ truncated }) => truncated),
			[true, null, false],
		);
	});

	it('reads chat prompts, and the answer from the reward specification', async () => {
		const chat = [{ role: 'user', content: 'q' }];
		const { train } = await read(
			row({ input_prompt: chat, env_extras: { reward_spec: { ground_truth: '3' }, extra_info: { index: 4 } } }),
		);
		assert.deepEqual(train[0]?.prompt, chat);
		assert.equal(train[0]?.answer, '3');
		assert.equal(train[0]?.row, 4);
	});

	it('reads the means next to the rollouts as metrics of their step', async () => {
		const { train, metrics } = await madeRun({
			[`${place}/gsm8k.jsonl`]: [row({})],
			[`${place}/aggregated_results.jsonl`]: [
				{ 'eval/gsm8k/avg_score': 1, 'eval/gsm8k/pass_at_4': 0.5, 'eval/all/x': null },
			],
		});
		assert.equal(train.length, 1);
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values]),
			[[5, { 'eval/gsm8k/reward': 1, 'eval/gsm8k/pass@4': 0.5 }]],
		);
	});

	it('reports what it cannot read', async () => {
		const { faults } = await read(
			row({}),
			{ input_prompt: 'p', score: 1 },
			{ output_response: 'o' },
			{ input_prompt: 'p', output_response: 'o' },
		);
		assert.deepEqual(
			faults.map(({ message }) => message),
			['has no output_response', 'has no input_prompt', 'has no score'],
		);
	});
});
