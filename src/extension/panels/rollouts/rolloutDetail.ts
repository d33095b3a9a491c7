import { hasTurns } from '../../../core/trace/messageText.ts';
import { type RolloutLine, textNotRecorded } from '../../../protocol/rolloutLine.ts';
import type { RolloutDetail, TokenValue } from '../../../protocol/rolloutsMessages.ts';
import { correctness, finite, tokenCount, valueText } from './rolloutText.ts';

/** Returns the token values available for coloring: columns that contain at least one number. */
export function recordedValues({ tokens }: Pick<RolloutLine, 'tokens'>): TokenValue[] {
	if (!tokens) return [];
	const holds = (column: readonly (number | null)[] | undefined) => column?.some((value) => value !== null) ?? false;
	const logprob = holds(tokens.logprob);
	const old = holds(tokens.oldLogprob);
	const values: TokenValue[] = [];
	if (logprob) values.push('logprob');
	if (holds(tokens.entropy)) values.push('entropy');
	if (logprob && old) values.push('ratio');
	if ((logprob || old) && holds(tokens.refLogprob)) values.push('kl');
	if (holds(tokens.advantage)) values.push('advantage');
	return values;
}

/** @param sent whether to include the completion; if false, it is loaded only when it is opened */
export function rolloutDetail(line: RolloutLine, completion: string, sent: boolean): RolloutDetail {
	return {
		index: line.index,
		completion: sent ? completion : null,
		size: completion.length,
		rewards: Object.entries(line.rewards).map(([name, value]) => [name.slice(0, 200), finite(value)]),
		reward: finite(line.reward),
		advantage: finite(line.advantage),
		correct: correctness(line.rewards),
		truncated: line.truncated,
		tokens: tokenCount(line),
		hasTokens: line.tokens !== undefined,
		tokenValues: recordedValues(line),
		...(line.extra?.text === textNotRecorded && completion === '' ? { textRecorded: false } : {}),
		turns: hasTurns(line.completion) ? line.completion.length : null,
		extra: line.extra && Object.keys(line.extra).length > 0 ? valueText(line.extra, 4000) : null,
	};
}
