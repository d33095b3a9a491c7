import { textOrMessages } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import { boundedValue, extraOf, fieldsOf, given, integerOf, numberOf, scoresOf, textOf } from '../foreignValues.ts';

/** Returns a rollout's error, which is recorded as an object or as text. */
function errorText(value: unknown): string | null {
	const error = fieldsOf(value);
	if (!error) return textOf(value);
	const words = [error.error, error.type, error.message, error.error_chain_repr].map(textOf);
	return words.filter((word) => word !== null && word !== '').join(': ') || 'unknown error';
}

/**
 * Reads a row of verifiers' `RolloutOutput` (verifiers/legacy/utils/save_utils.py, `state_to_output`). Rows are in the
 * order that rollouts finished; those for the same example form a group. `metrics` contains the values of the reward
 * functions.
 */
export function evaluationRow(record: unknown): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const example = integerOf(row.example_id) ?? textOf(row.example_id);
	if (example === null) return 'has no example_id';
	if (row.reward === undefined) return 'has no reward';
	const error = errorText(row.error);
	const completion = textOrMessages(row.completion);
	if (completion === null && row.completion !== null && row.completion !== undefined) return 'has no completion';
	const usage = fieldsOf(row.token_usage);
	return [
		{
			groupKey: `${textOf(row.env_id) ?? textOf(row.task) ?? ''} ${example}`,
			prompt: textOrMessages(row.prompt) ?? '',
			completion: completion ?? '',
			rewards: scoresOf(row.metrics),
			reward: numberOf(row.reward),
			advantage: numberOf(row.advantage),
			truncated: typeof row.is_truncated === 'boolean' ? row.is_truncated : null,
			row: example,
			...given('answer', boundedValue(row.answer ?? null)),
			...given(
				'extra',
				extraOf({
					length: numberOf(usage?.output_tokens),
					error,
					stop: row.stop_condition,
					info: row.info,
				}),
			),
		},
	];
}
