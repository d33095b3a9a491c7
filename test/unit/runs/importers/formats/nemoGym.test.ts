import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsIn, madeRun } from '../madeRun.ts';

const row = (task: number, output: readonly object[], more: object = {}) => ({
	responses_create_params: { input: [{ role: 'user', content: 'q' }], tools: [] },
	response: { model: 'm', status: 'completed', output, usage: { output_tokens: 9 } },
	reward: 1,
	accuracy: true,
	expected_answer: '8',
	agent_ref: { name: 'simple_agent' },
	_ng_task_index: task,
	_ng_rollout_index: 0,
	...more,
});
const said = (text: string) => ({
	type: 'message',
	role: 'assistant',
	content: [{ type: 'output_text', text, annotations: [] }],
});

describe('NeMo Gym', () => {
	it('reads items of the Responses API as messages, and groups by task', async () => {
		const output = [
			{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
			{ type: 'function_call', call_id: 'c', name: 'add', arguments: '{"x": 1}' },
			{ type: 'function_call_output', call_id: 'c', output: '2' },
			said('It is 2.'),
		];
		const { run, train, faults } = await madeRun({
			'rollouts.jsonl': [row(0, output), row(1, [said('a')]), row(0, [said('b')], { reward: 0 })],
			'rollouts_failures.jsonl': [{ _ng_failure_class: 'timeout' }],
			'rollouts_materialized_inputs.jsonl': [{ responses_create_params: {} }],
		});
		assert.equal(run.format, 'nemo-gym');
		assert.deepEqual(faults, []);
		assert.deepEqual(groupsIn(train), [0, 1, 0]);
		assert.deepEqual(
			train.map(({ reward }) => reward),
			[1, 1, 0],
		);
		assert.deepEqual(train[0]?.completion, [
			{
				role: 'assistant',
				content: null,
				reasoning_content: 'hm',
				tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{"x": 1}' } }],
			},
			{ role: 'tool', content: '2', tool_call_id: 'c' },
			{ role: 'assistant', content: 'It is 2.' },
		]);
		assert.deepEqual(train[0]?.extra, { length: 9, agent: 'simple_agent', model: 'm', scores: { accuracy: 1 } });
		assert.deepEqual([train[0]?.row, train[0]?.answer, train[0]?.truncated], [0, '8', false]);
	});

	it('reads sampled tokens, limits and plain-text prompts', async () => {
		const tokens = { generation_token_ids: [5, 6], generation_log_probs: [-0.5, -1] };
		const { train, faults } = await madeRun({
			'a.jsonl': [
				row(0, [{ ...said('x'), ...tokens }], {
					responses_create_params: { input: 'q', instructions: 's' },
				}),
				row(1, [said('y')], {
					response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [said('y')] },
				}),
				{ responses_create_params: { input: 'q' }, reward: 1 },
			],
		});
		assert.deepEqual(train[0]?.tokens, { text: ['#5', '#6'], logprob: [-0.5, -1] });
		assert.deepEqual(train[0]?.prompt, [
			{ role: 'system', content: 's' },
			{ role: 'user', content: 'q' },
		]);
		assert.equal(train[1]?.truncated, true);
		assert.deepEqual(
			faults.map(({ line, message }) => [line, message]),
			[[3, 'has no response']],
		);
	});
});
