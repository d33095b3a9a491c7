import type { JsonShape } from '../../../files/jsonParts.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import { messageOf } from '../foreignMessages.ts';
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
	scoresOf,
	sumOf,
	textOf,
	truncatedBy,
	weightsSpan,
} from '../foreignValues.ts';
import { type GraphNode, splitGraph } from '../messageGraph.ts';
import { timelineOf } from '../timeline.ts';
import { traceActivities, traceStart } from './traceTimes.ts';
import { type FoldedUpdates, foldUpdates } from './traceUpdates.ts';

/*
 * Episodes and traces from verifiers v1 (verifiers/v1/{episode,trace,graph}.py), which prime-rl also writes. A trace is
 * the work of one agent, stored as a graph of messages. An episode contains the traces of all its agents.
 */

/** Data about a trace from another file: its credit, which is assigned after the first copy is written. */
export interface TraceCredit {
	readonly advantage: number | null;
	/** Credits by node. */
	readonly tokens: readonly (TokenCredit | null)[] | null;
	/** Updates that were written after the trace, oldest first. */
	readonly updates?: readonly unknown[];
}

/** Credit of a node's trained tokens: one entry per token, or usually a single value shared by all `count` of them. */
type TokenCredit = readonly (number | null)[] | { readonly value: number | null; readonly count: number };

function tokenCredit(values: unknown): TokenCredit | null {
	if (!Array.isArray(values)) return null;
	const numbers = numbersOf(values);
	const [value] = numbers;
	return value !== undefined && numbers.every((other) => other === value) ? { value, count: numbers.length } : numbers;
}

function creditedTokens(credit: TokenCredit | null | undefined, count: number): readonly (number | null)[] | null {
	if (!credit) return null;
	if ('value' in credit) return credit.count === count ? Array.from({ length: count }, () => credit.value) : null;
	return credit.length === count ? credit : null;
}

type Tokens = NonNullable<RolloutLine['tokens']>;

interface TraceNode extends GraphNode {
	readonly fields: Fields;
}

/**
 * Returns the nodes by index in the trace, or null if one of them is not a message, since indices would then be
 * unreliable.
 */
function nodesOf(trace: Fields): TraceNode[] | null {
	const nodes: TraceNode[] = [];
	for (const [index, entry] of listOf(trace.nodes).entries()) {
		const fields = fieldsOf(entry);
		const message = messageOf(fields?.message);
		if (!fields || !message) return null;
		const parent = integerOf(fields.parent);
		const sampled = fields.sampled === true;
		nodes.push({ fields, message, sampled, parent: parent !== null && parent >= 0 && parent < index ? parent : null });
	}
	return nodes;
}

/** The trained tokens of one node, where `mask` is true. Streams have one entry for each of these tokens. */
interface NodeTokens {
	readonly ids: readonly number[];
	stream(name: string): readonly (number | null)[] | null;
}

function trainedTokens(node: Fields): NodeTokens | null {
	const mask = listOf(node.mask);
	const all = numbersOf(node.token_ids);
	if (all.length !== mask.length) return null;
	const ids = all.flatMap((id, at) => (mask[at] === true && id !== null ? [id] : []));
	return {
		ids,
		stream: (name) => {
			const values = numbersOf(node[name]);
			return values.length === ids.length ? values : null;
		},
	};
}

const streams = [
	['logprob', 'logprobs'],
	['oldLogprob', 'trainer_logprobs'],
	['refLogprob', 'reference_logprobs'],
	['entropy', 'entropies'],
	['advantage', 'advantages'],
] as const;

/** Returns the sampled tokens in the completion's nodes, or undefined if none are recorded. */
function tokensOf(
	nodes: readonly TraceNode[],
	kept: readonly number[],
	credit: TraceCredit | null,
	updates: FoldedUpdates | null,
): Tokens | undefined {
	const text: string[] = [];
	const columns = new Map<string, { values: (number | null)[]; any: boolean }>();
	for (const [name] of streams) columns.set(name, { values: [], any: false });
	for (const index of kept) {
		const node = nodes[index];
		const tokens = node && trainedTokens(node.fields);
		if (!tokens) continue;
		for (const id of tokens.ids) text.push(`#${id}`);
		for (const [name, foreign] of streams) {
			const column = columns.get(name);
			if (!column) continue;
			const credited = name === 'advantage' ? credit?.tokens?.[index] : null;
			const updated = updates?.nodes.get(index)?.[foreign];
			const values = updated ?? tokens.stream(foreign) ?? creditedTokens(credited, tokens.ids.length);
			if (values && values.length > 0) column.any = true;
			for (let at = 0; at < tokens.ids.length; at++) column.values.push(values?.[at] ?? null);
		}
	}
	if (text.length === 0) return undefined;
	const recorded = (name: string) => (columns.get(name)?.any ? columns.get(name)?.values : undefined);
	return {
		text,
		logprob: columns.get('logprob')?.values ?? [],
		...given('oldLogprob', recorded('oldLogprob')),
		...given('refLogprob', recorded('refLogprob')),
		...given('entropy', recorded('entropy')),
		...given('advantage', recorded('advantage')),
	};
}

/** Returns the credit from the trained copy of a trace, or null if there is none. */
export function traceCredit(value: unknown): TraceCredit | null {
	const trace = fieldsOf(value);
	if (!trace) return null;
	const tokens = listOf(trace.nodes).map((node) => tokenCredit(fieldsOf(node)?.advantages));
	const credited = tokens.filter((credit) => credit !== null && !(Array.isArray(credit) && credit.length === 0));
	const advantage = numberOf(fieldsOf(trace.info)?.advantage);
	if (advantage === null && credited.length === 0) return null;
	return { advantage: advantage ?? commonValue(credited), tokens: credited.length > 0 ? tokens : null };
}

/** Returns the value shared by all tokens, or null if they differ or there are none. */
function commonValue(credits: readonly (TokenCredit | null)[]): number | null {
	const values = credits.map((credit) => (credit && 'value' in credit ? credit.value : undefined));
	const [first] = values;
	return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** Same as verifiers' `Trace.is_truncated`; null if neither a limit nor the end of the last call is recorded. */
const limits = new Set(['max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens', 'context_length']);
function truncatedOf(trace: Fields): boolean | null {
	if (limits.has(textOf(trace.stop_condition) ?? '')) return true;
	const calls = listOf(trace.calls).map(fieldsOf);
	const last = calls.findLast((call) => call && (call.error === null || call.error === undefined));
	return truncatedBy(last?.finish_reason);
}

function rewardsOf(trace: Fields): { rewards: Record<string, number | null>; reward: number | null } {
	const rewards: [string, number | null][] = [];
	const values: (number | null)[] = [];
	for (const [name, entry] of Object.entries(fieldsOf(trace.rewards) ?? {})) {
		const fields = fieldsOf(entry);
		const score = numberOf(fields ? fields.score : entry);
		const weight = numberOf(fields?.weight) ?? 1;
		rewards.push([name, score]);
		values.push(score === null ? null : score * weight);
	}
	return { rewards: Object.fromEntries(rewards), reward: sumOf(values) };
}

function errorsOf(owner: Fields): string[] {
	return listOf(owner.errors).map((entry) => {
		const error = fieldsOf(entry);
		const words = [textOf(error?.type), textOf(error?.message)].filter((word) => word !== null);
		return words.length > 0 ? words.join(': ') : String(boundedValue(entry, 12));
	});
}

const agentOf = (trace: Fields) => fieldsOf(trace.agent);

function answeredTokens(trace: Fields): number | null {
	return sumOf(listOf(trace.calls).map((call) => numberOf(fieldsOf(fieldsOf(call)?.usage)?.completion_tokens)));
}

/** Data about an episode that its rollouts share. */
interface EpisodeFacts {
	readonly fields: Fields;
	/** Summaries of other agents' traces. */
	readonly others: readonly Fields[];
	/** Whether several agents are trained, in which case their rollouts do not form one group. */
	readonly severalAgents: boolean;
	/** Step of the file, if it contains the rollouts of a single batch. */
	readonly batch: number | null;
}

function groupKey(trace: Fields, episode: EpisodeFacts, prompt: unknown): string {
	const task = fieldsOf(trace.task) ?? fieldsOf(episode.fields.task);
	const data = fieldsOf(task?.data);
	const info = fieldsOf(trace.info);
	const id =
		textOf(fieldsOf(episode.fields.group)?.id) ??
		textOf(episode.fields.group_id) ??
		textOf(info?.group_id) ??
		textOf(task?.key) ??
		(integerOf(data?.idx) ?? textOf(data?.idx))?.toString() ??
		JSON.stringify(prompt);
	return episode.severalAgents ? `${textOf(agentOf(trace)?.name) ?? ''} ${id}` : id;
}

const arrivalOf = (trace: Fields) => integerOf(fieldsOf(fieldsOf(trace.info)?.arrival)?.step);

/** Returns the records of the work that dispatched an episode, wherever the different versions store them. */
function workIn(trace: Fields, episode: Fields): Fields[] {
	const runs = [fieldsOf(episode.run), fieldsOf(trace.run), fieldsOf(fieldsOf(trace.info)?.run)];
	return runs.flatMap((run) => [fieldsOf(run?.work), run]).filter((work) => work !== null);
}

/** Returns the step at which a rollout arrived or, if that is not recorded, was dispatched. */
function stepOf(trace: Fields, episode: Fields): number | null {
	const arrival = arrivalOf(trace);
	if (arrival !== null) return arrival;
	for (const work of workIn(trace, episode)) {
		const step = integerOf(work.step);
		if (step !== null) return step;
	}
	return null;
}

/**
 * Returns the policy versions at the time an episode was dispatched and at the time it ended. The batch of step N, if
 * the episode arrived in it, trains version N - 1 (episode_staleness in prime_rl/orchestrator/utils.py).
 *
 * @param batch step of the file, if it contains the rollouts of a single batch
 */
function policyOf(trace: Fields, episode: Fields, batch: number | null): Fields | null {
	for (const work of workIn(trace, episode)) {
		const policy = fieldsOf(work.policy);
		if (policy === null) continue;
		const step = work.type === 'train' ? (batch ?? arrivalOf(trace)) : null;
		return weightsSpan(policy.start, policy.end, step === null ? null : step - 1);
	}
	return null;
}

const runParts = { step: true, type: true, work: { step: true, type: true } } as const;
const traceParts = {
	agent: { trainable: true },
	nodes: [{ message: { role: true } }],
	info: { kind: true, arrival: { step: true }, run: runParts },
	run: runParts,
} as const;

/**
 * Parts of an episode or a single trace that suffice for `episodeRollouts` and `workOf` to return the same steps and
 * errors.
 */
export const episodeStepParts: JsonShape = { ...traceParts, traces: [traceParts] };

/** Returns a record's split, `train` or `eval`, if recorded. */
export function workOf(record: unknown): string | null {
	const episode = fieldsOf(record);
	for (const trace of listOf(episode?.traces)) {
		const kind = textOf(fieldsOf(fieldsOf(trace)?.info)?.kind);
		if (kind === 'train' || kind === 'eval') return kind;
	}
	const run = fieldsOf(episode?.run);
	return textOf(fieldsOf(run?.work)?.type) ?? textOf(run?.type);
}

function shortly(trace: Fields): Fields {
	const nodes = nodesOf(trace) ?? [];
	const last = nodes.findLast((node) => node.sampled)?.message.content ?? null;
	return { agent: agentOf(trace)?.name, reward: rewardsOf(trace).reward, reply: last?.slice(0, 2000) };
}

function traceRollout(trace: Fields, episode: EpisodeFacts, credit: TraceCredit | null): ForeignRollout | string {
	const nodes = nodesOf(trace);
	if (!nodes) return 'has a node without a message';
	const { prompt, completion, parents, nodes: kept } = splitGraph(nodes);
	const data = fieldsOf((fieldsOf(trace.task) ?? fieldsOf(episode.fields.task))?.data);
	const updates = credit?.updates
		? foldUpdates(
				credit.updates,
				nodes.map((node) => node.fields),
			)
		: null;
	const weights = policyOf(trace, episode.fields, episode.batch);
	const tokens = tokensOf(nodes, kept, credit, updates);
	const version = tokens && weights !== null && weights.oldest === weights.newest ? numberOf(weights.oldest) : null;
	const errors = [...errorsOf(episode.fields), ...errorsOf(trace)];
	const env = fieldsOf(episode.fields.env);
	return {
		groupKey: groupKey(trace, episode, prompt),
		step: stepOf(trace, episode.fields),
		prompt: prompt.length > 0 ? prompt : (textOf(data?.prompt) ?? ''),
		completion,
		...rewardsOf(trace),
		advantage:
			updates?.advantage ??
			numberOf(fieldsOf(trace.info)?.advantage) ??
			credit?.advantage ??
			traceCredit(trace)?.advantage ??
			null,
		truncated: truncatedOf(trace),
		...given('answer', boundedValue(data?.answer ?? null)),
		...given('row', integerOf(data?.idx) ?? textOf(data?.name) ?? textOf(data?.idx)),
		...given(
			'tokens',
			tokens && { ...tokens, ...given('version', version === null ? null : tokens.text.map(() => version)) },
		),
		...given('parents', parents),
		...given(
			'extra',
			extraOf({
				length: tokens ? null : answeredTokens(trace),
				agent: episode.severalAgents || episode.others.length > 0 ? agentOf(trace)?.name : null,
				environment: textOf(env?.name) ?? textOf(env?.id),
				metrics: scoresOf(trace.metrics),
				stop: trace.stop_condition,
				errors,
				others: episode.others.map(shortly),
				weights,
				timeline: timelineOf(traceActivities(trace), traceStart(trace)),
			}),
		),
	};
}

/**
 * Returns a rollout for an episode that failed before any agent produced a message. The rollout is not scored, but is
 * shown in its group.
 */
function failedEpisode(fields: Fields): ForeignRollout {
	const data = fieldsOf(fieldsOf(fields.task)?.data);
	const prompt = textOf(data?.prompt) ?? '';
	const episode = { fields, others: [], severalAgents: false, batch: null };
	return {
		groupKey: groupKey({}, episode, prompt),
		step: stepOf({}, fields),
		prompt,
		completion: '',
		reward: null,
		...given('answer', boundedValue(data?.answer ?? null)),
		...given('row', integerOf(data?.idx) ?? textOf(data?.name)),
		...given('extra', extraOf({ errors: errorsOf(fields), failed: 'before its first message' })),
	};
}

/**
 * Returns the rollouts of an episode: one per trained agent, or one per agent if none is trained. The other agents'
 * work is summarized in `extra`. A line can also be a single trace, as written by earlier versions.
 *
 * @param creditOf credit by trace id
 * @param batch step of the file, if it contains the rollouts of a single batch
 */
export function episodeRollouts(
	record: unknown,
	creditOf: (trace: string) => TraceCredit | null = () => null,
	batch: number | null = null,
): readonly ForeignRollout[] | string {
	const fields = fieldsOf(record);
	if (!fields) return 'is not an object';
	const bare = Array.isArray(fields.nodes);
	if (!bare && !Array.isArray(fields.traces)) return 'has no traces';
	const all = bare ? [fields] : listOf(fields.traces).map(fieldsOf);
	const traces = all.filter((trace) => trace !== null);
	if (traces.length < all.length) return 'has a trace that is not an object';
	if (traces.length === 0) return [failedEpisode(fields)];
	const trained = traces.filter((trace) => agentOf(trace)?.trainable !== false);
	const shown = trained.length > 0 ? trained : traces;
	const names = new Set(shown.map((trace) => agentOf(trace)?.name));
	const episode = {
		fields: bare ? {} : fields,
		others: traces.filter((trace) => !shown.includes(trace)),
		severalAgents: names.size > 1,
		batch,
	};
	const rollouts: ForeignRollout[] = [];
	for (const trace of shown) {
		const id = textOf(trace.id);
		const rollout = traceRollout(trace, episode, id === null ? null : creditOf(id));
		if (typeof rollout === 'string') return rollout;
		rollouts.push(rollout);
	}
	return rollouts;
}
