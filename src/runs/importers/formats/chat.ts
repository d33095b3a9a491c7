import type { FolderView } from '../folderView.ts';
import { messageOf, messagesOf } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	fieldsOf,
	given,
	listOf,
	numberOf,
	scoreOf,
	scoresOf,
	sumOf,
	textOf,
	truncatedBy,
} from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { conversationOf } from './loggedTraces.ts';

/*
 * Chats as OpenAI-compatible APIs store them, one per line: `messages` (fine-tuning files, logs), or a request and
 * a response (proxy logs, batch results).
 */

const pattern = '{name}.jsonl';

function chatOf(record: unknown, file: string): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const request = fieldsOf(row.request) ?? fieldsOf(row.body);
	const asked = row.messages ?? fieldsOf(request?.body)?.messages ?? request?.messages ?? [];
	const response = fieldsOf(row.response);
	const body = fieldsOf(response?.body) ?? response;
	const choice = fieldsOf(listOf(body?.choices)[0]);
	const answer = choice === null ? null : messageOf(choice.message);
	const messages = messagesOf(asked);
	if (messages === null) return 'has a message without a role';
	if (messages.length === 0 && answer === null) return 'has no messages';
	const conversation = answer === null ? conversationOf(asked) : { prompt: messages, completion: [answer] };
	if (conversation === null) return 'has no messages';
	const scores = scoresOf(row.rewards ?? row.scores);
	const error = fieldsOf(row.error) ?? fieldsOf(body?.error);
	return [
		{
			...conversation,
			groupKey: `${file} ${JSON.stringify(conversation.prompt)}`,
			reward: scoreOf(row.reward) ?? scoreOf(row.score) ?? sumOf(Object.values(scores)),
			rewards: scores,
			truncated: truncatedBy(choice?.finish_reason),
			...given('row', textOf(row.custom_id) ?? textOf(row.id)),
			...given('answer', boundedValue(row.answer ?? null)),
			...given(
				'extra',
				extraOf({
					model: textOf(body?.model) ?? textOf(request?.model) ?? textOf(row.model),
					length: numberOf(fieldsOf(body?.usage)?.completion_tokens),
					error: error === null ? textOf(row.error) : (textOf(error.message) ?? 'unknown error'),
				}),
			),
		},
	];
}

const isChat = (keys: ReadonlySet<string>) =>
	keys.has('messages') || (keys.has('response') && (keys.has('request') || keys.has('custom_id')));

export const chat: RunFormat = {
	name: 'chat',
	title: 'Chat JSONL',
	looksFor: '.jsonl files with messages in their rows, or with requests and responses',
	hasSteps: false,
	onRequest: true,
	rollouts: [{ pattern, form: 'jsonl', split: 'train', rollouts: (record, { file }) => chatOf(record, file) }],
	metrics: [],
	notes: [
		'Each row is a rollout; rows with the same prompt in one file form a group.',
		'The prompt ends before the first answer. A reward is known only if the row has "reward", "score" or "rewards".',
	],
	async recognize(folder: FolderView) {
		for (const { path } of await folder.some(pattern, 3)) {
			if (isChat(topKeys((await folder.head(path)) ?? ''))) return true;
		}
		return false;
	},
};
