import type { Message, RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { FolderView } from '../folderView.ts';
import { contentText, toolCalls } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	numbersOf,
	scoreOf,
	textOf,
} from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';

/*
 * Rollouts that NeMo Gym collects (nemo_gym/rollout_collection.py): one row per rollout with the request and the response
 * in the format of OpenAI's Responses API, the reward, and the indices of the task and the repetition.
 */

const pattern = '{name}.jsonl';
/** Files next to the rollouts: inputs, failed attempts, and statistics. */
const other = /_(materialized_inputs|failures|aggregate_metrics|reward_profiling|metrics)$/;

/** Collects the items of a conversation as messages. Reasoning and calls belong to the answer that they precede. */
function messagesOf(items: unknown): Message[] {
	if (typeof items === 'string') return [{ role: 'user', content: items }];
	const messages: Message[] = [];
	let open: { thinking: string[]; calls: unknown[] } = { thinking: [], calls: [] };
	const close = (content: string | null) => {
		if (content === null && open.thinking.length === 0 && open.calls.length === 0) return;
		messages.push({
			role: 'assistant',
			content,
			...(open.thinking.length === 0 ? {} : { reasoning_content: open.thinking.join('\n') }),
			...(open.calls.length === 0 ? {} : { tool_calls: toolCalls(open.calls) }),
		});
		open = { thinking: [], calls: [] };
	};
	for (const item of listOf(items).map(fieldsOf)) {
		const type = textOf(item?.type) ?? 'message';
		if (item === null) continue;
		if (type === 'reasoning') {
			if (open.calls.length > 0) close(null);
			open.thinking.push(contentText(item.summary) || (contentText(item.content) ?? ''));
		} else if (type === 'function_call') {
			open.calls.push({ id: item.call_id, name: item.name, arguments: item.arguments });
		} else if (type === 'function_call_output') {
			close(null);
			const content = contentText(item.output);
			messages.push({ role: 'tool', content, ...given('tool_call_id', textOf(item.call_id)) });
		} else if (item.role === 'assistant') close(contentText(item.content) ?? '');
		else {
			close(null);
			messages.push({ role: textOf(item.role) ?? 'user', content: contentText(item.content) });
		}
	}
	close(null);
	return messages;
}

/** Returns the sampled tokens, which model servers used for training add to each item they generate. */
function tokensOf(output: unknown): RolloutLine['tokens'] | undefined {
	const text: string[] = [];
	const logprob: (number | null)[] = [];
	for (const item of listOf(output).map(fieldsOf)) {
		const ids = numbersOf(item?.generation_token_ids);
		const values = numbersOf(item?.generation_log_probs);
		for (const [i, id] of ids.entries()) {
			text.push(`#${id}`);
			logprob.push(values.length === ids.length ? (values[i] ?? null) : null);
		}
	}
	return text.length === 0 ? undefined : { text, logprob };
}

function truncatedOf(response: Fields): boolean | null {
	const status = textOf(response.status);
	const reason = textOf(fieldsOf(response.incomplete_details)?.reason);
	if (reason === 'max_output_tokens') return true;
	return status === 'completed' ? false : null;
}

/**
 * Values from the resources server's verification other than the reward, such as whether the answer could be parsed.
 */
function scoresOf(row: Fields): Record<string, number | null> {
	const own = new Set(['reward', '_ng_task_index', '_ng_rollout_index']);
	const entries = Object.entries(row).filter(
		([name, value]) =>
			!own.has(name) && !name.startsWith('_') && (typeof value === 'number' || typeof value === 'boolean'),
	);
	return Object.fromEntries(entries.map(([name, value]) => [name, scoreOf(value)]));
}

function rolloutOf(record: unknown, file: string): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	const request = fieldsOf(row?.responses_create_params);
	if (!row || !request) return 'has no responses_create_params';
	const response = fieldsOf(row.response);
	if (!response) return 'has no response';
	const prompt = messagesOf(request.input);
	const completion = messagesOf(response.output);
	const task = integerOf(row._ng_task_index);
	const tokens = tokensOf(response.output);
	const instructions = textOf(request.instructions);
	return [
		{
			groupKey: `${file} ${task ?? JSON.stringify(prompt)}`,
			prompt: instructions === null ? prompt : [{ role: 'system', content: instructions }, ...prompt],
			completion: completion.length === 0 ? '' : completion,
			reward: scoreOf(row.reward),
			truncated: truncatedOf(response),
			...given('row', task),
			...given('answer', boundedValue(row.expected_answer ?? row.ground_truth ?? null)),
			...given('tokens', tokens),
			...given(
				'extra',
				extraOf({
					length: tokens ? null : numberOf(fieldsOf(response.usage)?.output_tokens),
					agent: fieldsOf(row.agent_ref)?.name,
					model: response.model,
					scores: scoresOf(row),
					error: textOf(fieldsOf(response.error)?.message),
				}),
			),
		},
	];
}

export const nemoGym: RunFormat = {
	name: 'nemo-gym',
	title: 'NeMo Gym',
	looksFor: '.jsonl files with responses_create_params and response in their rows',
	hasSteps: false,
	rollouts: [
		{
			pattern,
			form: 'jsonl',
			split: 'train',
			accepts: ({ name }) => !other.test(name ?? ''),
			rollouts: (record, { file }) => rolloutOf(record, file),
		},
	],
	metrics: [],
	notes: [
		'Rollouts for the same task form a group.',
		'Failed attempts (..._failures.jsonl) are not counted, because they are retried.',
		'Tokens are recorded as ids, and only by model servers that are used for training.',
	],
	async recognize(folder: FolderView) {
		for (const { path } of await folder.some(pattern, 10)) {
			const keys = topKeys((await folder.head(path)) ?? '');
			if (keys.has('responses_create_params') && (keys.has('response') || keys.has('reward'))) return true;
		}
		return false;
	},
};
