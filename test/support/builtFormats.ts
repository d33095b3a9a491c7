import { zstdFile } from './zstdFile.ts';

/* Small runs in formats that no program installable here writes, modeled on the sources in docs/formats.md. */

const question = (i: number) => `What is ${12 + i} + ${30 - i}?`;
const answer = (i: number, right: boolean) => (right ? '42' : `${41 - i}`);
/** Four attempts at each of two prompts; the first one or two are correct. */
const attempts = Array.from({ length: 8 }, (_, i) => ({ prompt: i >> 2, attempt: i % 4, right: i % 4 <= i >> 2 }));

const chat = attempts.map(({ prompt, attempt, right }) => ({
	messages: [
		{ role: 'system', content: 'Answer with a number.' },
		{ role: 'user', content: question(prompt) },
		{ role: 'assistant', content: answer(attempt, right) },
	],
	score: right ? 1 : 0,
}));

const gym = attempts.map(({ prompt, attempt, right }) => ({
	responses_create_params: { input: [{ role: 'user', content: question(prompt) }], tools: [] },
	response: {
		...{ model: 'adder', status: 'completed', usage: { output_tokens: 9 } },
		output: [
			{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'I add both numbers.' }] },
			{
				type: 'function_call',
				call_id: `c${attempt}`,
				name: 'add',
				arguments: `{"x": ${12 + prompt}, "y": ${30 - prompt}}`,
			},
			{ type: 'function_call_output', call_id: `c${attempt}`, output: '42' },
			{
				...{ type: 'message', role: 'assistant' },
				content: [{ type: 'output_text', text: answer(attempt, right), annotations: [] }],
			},
		],
	},
	...{ reward: right ? 1 : 0, agent_ref: { name: 'simple_agent' } },
	...{ _ng_task_index: prompt, _ng_rollout_index: attempt },
}));

const attribute = (key: string, value: string | number) => ({
	key,
	value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
});
const spans = attempts.map(({ prompt, attempt, right }, i) => {
	const start = 1_790_000_000_000_000_000n + BigInt(i) * 2_000_000_000n;
	const messages = (role: string, content: string) => JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
	const span = {
		...{ traceId: `t${i}`, spanId: `s${i}`, name: 'chat adder' },
		...{ startTimeUnixNano: String(start), endTimeUnixNano: String(start + 1_500_000_000n) },
		attributes: [
			attribute('gen_ai.operation.name', 'chat'),
			attribute('gen_ai.request.model', 'adder'),
			attribute('gen_ai.input.messages', messages('user', question(prompt))),
			attribute('gen_ai.output.messages', messages('assistant', answer(attempt, right))),
			attribute('gen_ai.usage.output_tokens', 3),
		],
	};
	return { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
});

const episodes = [1, 2].flatMap((step) =>
	attempts.map(({ prompt, attempt, right }) => {
		const id = `${step}-${prompt}-${attempt}`;
		const text = answer(attempt, right);
		return {
			...{ id: `e${id}`, group: { id: `g${step}-${prompt}` }, run: { work: { type: 'train', step: step - 1 } } },
			traces: [
				{
					id,
					nodes: [
						{ message: { role: 'user', content: question(prompt) }, token_ids: [1, 2, 3], mask: [false, false, false] },
						{
							...{ parent: 0, sampled: true, message: { role: 'assistant', content: text } },
							...{ token_ids: [4, 5], mask: [true, true], logprobs: [-0.25, -1.5] },
						},
					],
					rewards: { correct: { score: right ? 1 : 0, weight: 1 } },
					info: { kind: 'train', arrival: { step, time: 1_790_000_000 + step } },
				},
			],
		};
	}),
);
const annotations = episodes.flatMap(({ traces }) =>
	traces.map(({ id, rewards }) => ({
		...{ version: 1, trace_id: id, info: {} },
		branches: [
			{
				...{ index: 0, advantages: [null, null, null, rewards.correct.score - 0.5, rewards.correct.score - 0.5] },
				...{ trainer_logprobs: [null, null, null, -0.5, -1.25], entropies: [null, null, null, 0.5, 1] },
			},
		],
	})),
);
const lines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`);
const traces = 'monitors/file/traces';

/** Files of each run by format. */
export const builtFormats: Readonly<Record<string, Readonly<Record<string, string | Uint8Array>>>> = {
	chat: { 'chat.jsonl': lines(chat).join('') },
	'nemo-gym': { 'rollouts.jsonl': lines(gym).join('') },
	opentelemetry: { 'spans.jsonl': lines(spans).join('') },
	'prime-rl': {
		[`${traces}/stream/00000.jsonl.zst`]: zstdFile(lines(episodes.slice(0, 10)), true),
		[`${traces}/stream/00001.jsonl`]: lines(episodes.slice(10)).join(''),
		[`${traces}/annotations/trainer/00000.jsonl`]: lines(annotations).join(''),
	},
};
