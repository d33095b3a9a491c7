import { countField, field } from './pythonValue.ts';
import type { TokenUsage } from './transcript.ts';

/**
 * Parses the token counts in a message or response, in the formats of OpenAI (`prompt_tokens` and `completion_tokens`),
 * Anthropic (`input_tokens` and `output_tokens`, plus `cache_read_input_tokens` and `cache_creation_input_tokens` for
 * cached tokens), and LangChain (`usage_metadata`, whose counts include cached tokens).
 */
export function readUsage(value: unknown): TokenUsage | null {
	const prompt = countField(value, 'prompt_tokens');
	const completion = countField(value, 'completion_tokens');
	if (prompt !== null || completion !== null) {
		return {
			prompt: prompt ?? 0,
			completion: completion ?? 0,
			total: countField(value, 'total_tokens'),
			cached: countField(field(value, 'prompt_tokens_details'), 'cached_tokens'),
			reasoning: countField(field(value, 'completion_tokens_details'), 'reasoning_tokens'),
		};
	}
	const input = countField(value, 'input_tokens');
	const output = countField(value, 'output_tokens');
	if (input === null && output === null) return null;
	const read = countField(value, 'cache_read_input_tokens');
	const made = countField(value, 'cache_creation_input_tokens');
	return {
		prompt: (input ?? 0) + (read ?? 0) + (made ?? 0),
		completion: output ?? 0,
		total: countField(value, 'total_tokens'),
		cached:
			read ??
			countField(field(value, 'input_token_details'), 'cache_read') ??
			countField(field(value, 'input_tokens_details'), 'cached_tokens'),
		reasoning:
			countField(field(value, 'output_token_details'), 'reasoning') ??
			countField(field(value, 'output_tokens_details'), 'reasoning_tokens'),
	};
}

export function sameUsage(one: TokenUsage, other: TokenUsage): boolean {
	return one.prompt === other.prompt && one.completion === other.completion;
}
