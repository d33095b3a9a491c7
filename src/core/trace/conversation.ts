import { type RolloutEpisode, rolloutEpisode } from '../../protocol/rolloutEpisode.ts';
import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { opensLikeError } from '../transcript/calls.ts';
import { childrenOf, soundParents } from './branches.ts';
import { hasTurns, type ToolCall, type Turn, turnsOf } from './messageText.ts';
import { messagesInText, withoutCalls } from './toolText.ts';

/** Answer to a tool call. */
export interface CallResult {
	/** Index of the message; null if it is not in the conversation. */
	readonly message: number | null;
	readonly content: string;
	readonly failed: boolean;
}

export interface AnsweredCall extends ToolCall {
	/** null if not recorded. */
	readonly result: CallResult | null;
}

/** A policy message that called tools or received an answer. */
export interface ConversationTurn {
	/** Index of the message; null if the conversation is known only from the episode. */
	readonly message: number | null;
	readonly calls: readonly AnsweredCall[];
	/** null if not recorded. */
	readonly reward: number | null;
	readonly seconds: number | null;
	/** State of the environment after the turn; null if not recorded. */
	readonly state: Readonly<Record<string, unknown>> | null;
}

type Conversing = Pick<RolloutLine, 'completion' | 'tokens' | 'parents' | 'extra'>;

/** Ranges of completion tokens that came from the environment: ascending, disjoint, within `count` tokens. */
export function observedRanges(extra: RolloutLine['extra'], count: number): [number, number][] {
	const ranges: [number, number][] = [];
	let last = 0;
	for (const range of Array.isArray(extra?.observed) ? extra.observed : []) {
		if (!Array.isArray(range)) continue;
		const [start, end] = range as unknown[];
		if (!Number.isInteger(start) || !Number.isInteger(end)) continue;
		const [from, to] = [Math.max(last, start as number), Math.min(count, end as number)];
		if (from >= to) continue;
		ranges.push([from, to]);
		last = to;
	}
	return ranges;
}

function callMessages(calls: RolloutEpisode['turns']): { calls: object[]; results: Message[] }[] {
	return (calls ?? []).map((turn) => ({
		calls: turn.calls.map((call) => ({ type: 'function', function: { name: call.name, arguments: call.arguments } })),
		results: turn.results.map(({ name, content, failed }) => ({ role: 'tool', content, name, failed })),
	}));
}

/** Splits text at the tokens from the environment. */
function messagesOfTokens(
	texts: readonly string[],
	ranges: readonly [number, number][],
	episode: RolloutEpisode | null,
) {
	const messages: Message[] = [];
	const turns = callMessages(episode?.turns);
	const speak = (from: number, to: number, turn: { calls: object[] } | undefined): void => {
		const text = texts.slice(from, to).join('');
		// A call in the text but not in the episode was never made, for example one after the last turn.
		const made = turn?.calls ?? (episode?.turns === undefined ? withoutCalls(text).calls : []);
		const content = made.length === 0 ? text : withoutCalls(text).content;
		if (content.trim() === '' && made.length === 0) return;
		messages.push({ role: 'assistant', content: content.trim(), ...(made.length === 0 ? {} : { tool_calls: made }) });
	};
	let at = 0;
	for (const [i, [start, end]] of ranges.entries()) {
		const turn = turns[i];
		speak(at, start, turn);
		if (turn !== undefined && turn.results.length > 0) messages.push(...turn.results);
		else messages.push({ role: 'tool', content: texts.slice(start, end).join('').trim() });
		at = end;
	}
	// Last turn without tokens from the environment: its calls were made, but their results did not fit.
	speak(at, texts.length, turns[ranges.length]);
	return messages;
}

/**
 * Returns the messages in a conversational completion, or null for a single answer. Text is a conversation if it
 * contains tokens from an environment or, unless its episode is recorded, tool calls in tags.
 */
export function completionMessages({ completion, tokens, extra }: Conversing): readonly Message[] | null {
	if (typeof completion !== 'string') return hasTurns(completion) ? completion : null;
	const ranges = tokens === undefined ? [] : observedRanges(extra, tokens.text.length);
	const episode = rolloutEpisode(extra);
	if (tokens !== undefined && ranges.length > 0) return messagesOfTokens(tokens.text, ranges, episode);
	// An environment's answers may contain call tags that are not actual calls; the episode lists the actual ones.
	return episode?.turns === undefined ? messagesInText(completion) : null;
}

const answers: ReadonlySet<string> = new Set(['tool', 'function', 'ipython', 'tool_result']);

/** Returns the answers to the message `of`: the tool messages that follow it, in all branches. */
function answersTo(of: number, roles: readonly string[], children: ReadonlyMap<number | null, readonly number[]>) {
	const found: number[] = [];
	const open = [...(children.get(of) ?? [])];
	for (let at = open.shift(); at !== undefined; at = open.shift()) {
		if (!answers.has(roles[at] ?? '')) continue;
		found.push(at);
		open.push(...(children.get(at) ?? []));
	}
	return found;
}

/** Returns whether a result reports a failed call: as recorded or, if that is unknown, based on how its text starts. */
function failedResult(message: Message): boolean {
	if (typeof message.failed === 'boolean') return message.failed;
	if (typeof message.is_error === 'boolean') return message.is_error;
	if (message.error !== undefined && message.error !== null && message.error !== false) return true;
	return message.status === 'error' || opensLikeError(message.content ?? '');
}

function turnsOfMessages(messages: readonly Message[], parents: RolloutLine['parents']): ConversationTurn[] {
	const parts = turnsOf(messages);
	const sound = soundParents(parents, messages.length);
	const children = childrenOf(sound);
	const roles = messages.map(({ role }) => role);
	const turns: ConversationTurn[] = [];
	for (const [message, { role, calls }] of parts.entries()) {
		if (role !== 'assistant' && calls.length === 0) continue;
		const next = (children.get(message) ?? []).map((child) => roles[child]);
		const answered = next.some((one) => one !== undefined && one !== 'assistant');
		if (calls.length === 0 && !answered) continue;
		const free = answersTo(message, roles, children);
		const own = new Map(free.map((at) => [(parts[at] as Turn).callId, at]));
		const taken = new Set<number>();
		const byId = calls.map(({ id }) => (id === null ? undefined : own.get(id)));
		for (const at of byId) if (at !== undefined) taken.add(at);
		const rest = free.filter((at) => !taken.has(at));
		const answeredCalls = calls.map((call, i): AnsweredCall => {
			const at = byId[i] ?? rest.shift();
			if (at === undefined) return { ...call, result: null };
			const result = messages[at] as Message;
			return { ...call, result: { message: at, content: result.content ?? '', failed: failedResult(result) } };
		});
		turns.push({ message, calls: answeredCalls, reward: null, seconds: null, state: null });
	}
	return turns;
}

const finite = (value: number | null | undefined) =>
	value !== null && value !== undefined && Number.isFinite(value) ? value : null;

/** Adds data from the episode: rewards, times, failures, and results missing from the conversation. */
function withEpisode(turns: readonly ConversationTurn[], episode: RolloutEpisode): ConversationTurn[] {
	const recorded = episode.turns ?? [];
	const made: ConversationTurn[] = [];
	// A message that received answers but made no calls is not a turn of the episode.
	let next = 0;
	for (const turn of turns) {
		const known = turn.calls.length === 0 ? undefined : recorded[next++];
		if (known === undefined) made.push(turn);
		else made.push(withRecorded(turn, known));
	}
	for (const known of recorded.slice(next)) made.push(withRecorded(null, known));
	return made;
}

/** Maximum number of calls and results to match in a turn, because matching takes quadratic time. */
const maxResults = 1000;

type RecordedTurn = NonNullable<RolloutEpisode['turns']>[number];

function withRecorded(
	turn: ConversationTurn | null,
	{ calls, results, reward, seconds, state }: RecordedTurn,
): ConversationTurn {
	const given: readonly ToolCall[] =
		turn?.calls ??
		calls
			.slice(0, maxResults)
			.map(({ name, arguments: value }) => ({ id: null, name, arguments: JSON.stringify(value) ?? '' }));
	const unused = results.slice(0, maxResults);
	const answered = given.map((call, i): AnsweredCall => {
		const inMessage = turn?.calls[i]?.result ?? null;
		// TRL lists the results of asynchronous tools after the others.
		const at = unused.findIndex((one) =>
			inMessage === null ? one.name === call.name : one.content === inMessage.content,
		);
		const [result] = at === -1 ? [] : unused.splice(at, 1);
		if (result === undefined) return { ...call, result: inMessage };
		const { content, failed } = result;
		return { ...call, result: { message: inMessage?.message ?? null, content, failed } };
	});
	return {
		...{ message: turn?.message ?? null, calls: answered },
		...{ reward: finite(reward), seconds: finite(seconds), state: state ?? null },
	};
}

/** Returns a rollout's turns, for any trainer, based on its messages, its text, and its episode. */
export function turnsOfRollout(line: Conversing): ConversationTurn[] {
	const messages = completionMessages(line);
	const episode = rolloutEpisode(line.extra);
	const turns = messages === null ? [] : turnsOfMessages(messages, line.parents);
	return episode === null ? turns : withEpisode(turns, episode);
}
