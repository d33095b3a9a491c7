import type { Message, RolloutLine } from '../../../protocol/rolloutLine.ts';
import { messagesOf } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import { extraOf, type Fields, fieldsOf, given, integerOf, listOf, numberOf, numbersOf } from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { eventMetrics } from './eventMetrics.ts';

/*
 * nemo_rl/utils/logger.py, `log_batched_dict_as_jsonl`: one batch row per line, with every value wrapped in a list of
 * one. Token arrays are padded to the longest row in the batch; `input_lengths` contains the actual length.
 */

const only = (value: unknown): unknown => (Array.isArray(value) && value.length === 1 ? value[0] : value);

/** Returns per-token values for the whole row, prompt and completion, without padding. */
function rowOf(record: Fields, name: string, length: number): (number | null)[] | null {
	const values = only(record[name]);
	return Array.isArray(values) && values.length >= length ? numbersOf(values.slice(0, length)) : null;
}

interface TrainedTokens {
	/** Positions of the tokens that the model generated. */
	readonly at: readonly number[];
	/** Number of contiguous spans of these tokens, each of which is a message from the model. */
	readonly turns: number;
	/** Whether the row ends with such a span. */
	readonly ends: boolean;
}

function trainedTokens(record: Fields): TrainedTokens | null {
	const length = integerOf(only(record.input_lengths)) ?? listOf(only(record.token_ids)).length;
	const mask = length > 0 ? rowOf(record, 'token_loss_mask', length) : null;
	if (mask === null) return null;
	const at = mask.flatMap((value, position) => (value ? [position] : []));
	const turns = at.filter((position) => !mask[position - 1]).length;
	return { at, turns, ends: Boolean(mask[length - 1]) };
}

function tokensOf(record: Fields, trained: TrainedTokens | null): RolloutLine['tokens'] {
	const last = trained?.at.at(-1);
	if (!trained || last === undefined) return undefined;
	const ids = rowOf(record, 'token_ids', last + 1);
	if (ids === null) return undefined;
	const taken = (name: string) => {
		const row = rowOf(record, name, last + 1);
		return row && trained.at.map((position) => row[position] ?? null);
	};
	return {
		text: trained.at.map((position) => `#${ids[position]}`),
		logprob: taken('generation_logprobs') ?? trained.at.map(() => null),
		...given('oldLogprob', taken('prev_logprobs')),
		...given('advantage', taken('advantages')),
	};
}

/**
 * The strings in a row have no roles. After the prompt, which can consist of several strings, model and environment
 * turns alternate; the number of contiguous trained spans is the number of model turns.
 */
function splitTexts(texts: readonly string[], trained: TrainedTokens | null) {
	const turns = trained?.turns || 1;
	const own = texts.length - 2 * turns + (trained?.ends === false ? 0 : 1);
	const first = own >= 1 && own < texts.length ? own : Math.min(1, texts.length - 1);
	const prompt = texts.slice(0, first).join('');
	const [answer, ...rest] = texts.slice(first);
	if (rest.length === 0) return { prompt, completion: answer ?? '' };
	const completion = texts
		.slice(first)
		.map((content, turn): Message => ({ role: turn % 2 === 0 ? 'assistant' : 'environment', content }));
	return { prompt, completion };
}

/** With dynamic sampling, `rewards` covers all sampled rows, and `filtered_rewards` only the kept ones. */
function rewardOf(record: Fields): number | null | undefined {
	const rewards = record.filtered_rewards ?? record.rewards;
	if (rewards === undefined) return undefined;
	return numberOf(only(rewards));
}

const sameValue = (values: readonly (number | null)[] | undefined): number | null =>
	values?.every((value) => value === values[0]) ? (values[0] ?? null) : null;

export function nemoRollout(record: unknown): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const texts = only(row.content);
	if (!Array.isArray(texts) || texts.length === 0) return 'has no content';
	if (texts.some((text) => typeof text !== 'string')) return 'has content that is not text';
	const reward = rewardOf(row);
	if (reward === undefined) return 'has no rewards';
	const trained = trainedTokens(row);
	const { prompt, completion } = splitTexts(texts, trained);
	const tokens = tokensOf(row, trained);
	const mask = numberOf(only(row.sample_loss_mask));
	return [
		{
			groupKey: prompt,
			prompt,
			completion,
			reward,
			advantage: sameValue(tokens?.advantage),
			...given('tokens', tokens),
			...given('extra', extraOf({ trained: mask === 0 ? false : null, agent: only(row.agent_ref) })),
		},
	];
}

export function nemoValidation(record: unknown): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const messages = messagesOf(only(row.content));
	if (!messages) return typeof listOf(only(row.content))[0] === 'string' ? nemoRollout(record) : 'has no content';
	const reward = rewardOf(row);
	if (reward === undefined) return 'has no rewards';
	const first = messages.findIndex((message) => message.role === 'assistant');
	const prompt = first < 0 ? messages : messages.slice(0, first);
	return [
		{
			groupKey: JSON.stringify(prompt),
			prompt,
			completion: first < 0 ? [] : messages.slice(first),
			reward,
		},
	];
}

export const nemoRl: RunFormat = {
	name: 'nemo-rl',
	title: 'NeMo-RL',
	looksFor: 'train_data_step{N}.jsonl or val_data_step{N}.jsonl',
	hasSteps: true,
	rollouts: [
		{
			pattern: 'train_data_step{step}.jsonl',
			form: 'jsonl',
			split: 'train',
			grouping: 'consecutive',
			verbatim: 'text',
			rollouts: nemoRollout,
		},
		{
			pattern: 'val_data_step{step}.jsonl',
			form: 'jsonl',
			split: 'validation',
			verbatim: 'messages',
			rollouts: nemoValidation,
		},
	],
	metrics: [{ pattern: 'tensorboard/**/*tfevents*', form: 'events', metrics: eventMetrics }],
	notes: [
		'NeMo-RL writes no group id: consecutive rollouts with the same prompt form a group, and all groups have the same size.',
		"Text has no roles: the model's turns are inferred from the trained tokens.",
		'Rewards are totals. With dynamic sampling, they are the rewards of the kept rows (filtered_rewards).',
		'Whether a completion was truncated is not recorded.',
	],
	recognize: async (folder) =>
		(await folder.has('train_data_step{step}.jsonl')) || (await folder.has('val_data_step{step}.jsonl')),
};
