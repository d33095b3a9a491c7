import { completionMessages, observedRanges, turnsOfRollout } from '../../../core/trace/conversation.ts';
import { weightsOf } from '../../../core/trace/weightVersions.ts';
import { rolloutEpisode } from '../../../protocol/rolloutEpisode.ts';
import { type RolloutLine, textNotRecorded } from '../../../protocol/rolloutLine.ts';
import type { DrawnBox } from '../../../protocol/rolloutPicture.ts';
import type { MadeTurn, RolloutDetail, TokenValue } from '../../../protocol/rolloutsMessages.ts';
import { type RolloutTimeline, rolloutTimeline } from '../../../protocol/rolloutTimeline.ts';
import { correctness, finite, tokenCount, valueText } from './rolloutText.ts';

/** Returns the token values available for coloring: columns that contain at least one number. */
export function recordedValues(
	line: Pick<RolloutLine, 'tokens'> & Partial<Pick<RolloutLine, 'step' | 'extra'>>,
): TokenValue[] {
	const { tokens } = line;
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
	if (holds(tokens.version) && weightsOf({ step: null, ...line }) !== null) values.push('weights');
	return values;
}

const stops: Readonly<Record<string, string>> = {
	policy: 'no more calls',
	done: 'environment done',
	turns: 'turn limit',
	length: 'token limit',
	failed: 'failed',
};

function errorText(error: NonNullable<ReturnType<typeof rolloutEpisode>>['error']): string | null {
	if (error === undefined) return null;
	const line = error.line === undefined ? '' : `, line ${error.line}`;
	return `${error.message.slice(0, 500)} (${error.kind} in ${error.during}${line})`;
}

function observedTokens(line: RolloutLine): number {
	const ranges = observedRanges(line.extra, tokenCount(line) ?? 0);
	return ranges.reduce((sum, [start, end]) => sum + end - start, 0);
}

/** Returns an episode's summary, or null if the rollout has neither calls nor a recorded episode. */
export function episodeSummary(line: RolloutLine): RolloutDetail['episode'] {
	const episode = rolloutEpisode(line.extra);
	const turns = turnsOfRollout(line);
	const calls = turns.flatMap((turn) => turn.calls);
	if (episode === null && calls.length === 0) return null;
	const recorded = episode?.stop;
	const foreign = line.extra?.stop;
	const whole = (value: number | undefined) =>
		value !== undefined && Number.isInteger(value) && value >= 0 ? value : null;
	return {
		turns: turns.length,
		calls: whole(episode?.calls) ?? calls.length,
		failures: whole(episode?.failures) ?? calls.filter(({ result }) => result?.failed).length,
		stop:
			recorded === undefined
				? typeof foreign === 'string'
					? foreign.slice(0, 80)
					: null
				: (stops[recorded] ?? recorded),
		error: errorText(episode?.error),
		seconds: finite(episode?.seconds),
		repeatable: episode?.turns !== undefined && typeof line.row === 'object' && line.row !== null,
	};
}

/** Maximum length of a state, and of a result that is not part of a message. */
const longestResult = 20_000;

export function madeTurns(line: RolloutLine): MadeTurn[] {
	return turnsOfRollout(line).map(({ message, reward, seconds, state, calls }) => ({
		...{ message, reward, seconds, state: state === null ? null : JSON.stringify(state).slice(0, longestResult) },
		calls: calls.map(({ name, arguments: given, result }) => ({
			name,
			arguments: given,
			result: result?.message ?? null,
			failed: result?.failed ?? null,
			content: result === null || result.message !== null ? null : result.content.slice(0, longestResult),
		})),
	}));
}

/** Maximum length of a name or an error in a timeline, and the maximum number of activities. */
const longestName = 500;
const maxActivities = 2000;

/** Returns a rollout's timeline for the panel, in order. Empty if no times are recorded. */
export function shownTimeline(extra: RolloutLine['extra']): RolloutTimeline {
	return (rolloutTimeline(extra) ?? [])
		.slice(0, maxActivities)
		.map(({ kind, name, start, seconds, tokens, waited, error }) => ({
			...{ kind, name: name.slice(0, longestName), start, seconds },
			...(tokens === undefined ? {} : { tokens }),
			...(waited === undefined ? {} : { waited }),
			...(error === undefined ? {} : { error: error.slice(0, longestName) }),
		}))
		.sort((a, b) => a.start - b.start);
}

/**
 * @param sent whether to include the completion; if false, it is loaded only when it is opened
 * @param boxes boxes to draw on the prompt's picture
 */
export function rolloutDetail(
	line: RolloutLine,
	completion: string,
	sent: boolean,
	boxes: readonly DrawnBox[] = [],
): RolloutDetail {
	const activities = shownTimeline(line.extra).length;
	const weights = weightsOf(line);
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
		turns: completionMessages(line)?.length ?? null,
		episode: episodeSummary(line),
		...(activities === 0 ? {} : { activities }),
		...(weights === null ? {} : { weights }),
		...(boxes.length === 0 ? {} : { boxes: [...boxes] }),
		...(line.extra?.observed === undefined ? {} : { observed: observedTokens(line) }),
		extra: line.extra && Object.keys(line.extra).length > 0 ? valueText(line.extra, 4000) : null,
	};
}
