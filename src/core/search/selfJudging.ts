import type { ChatMessage } from '../../protocol/scorer.ts';
import { readValue, readVote, type ValueForm } from './prompts/readReply.ts';
import type { Search } from './search.ts';

export interface SelfValue {
	/** Scorer name under which the values are logged. */
	readonly scorer: string;
	readonly messages: (node: number) => readonly ChatMessage[];
	readonly form: ValueForm;
	/** Number of replies to sample; the value is their mean. */
	readonly samples: number;
	readonly temperature?: number;
}

/**
 * Evaluates nodes by asking the policy to rate them, and logs the values as scores. Replies without a value are
 * ignored. A node without a valid reply gets no value, which is logged as a fault. Nodes that already have a value keep
 * it.
 */
export function valueByPrompt(search: Search, nodes: readonly number[], ask: SelfValue): Promise<(number | null)[]> {
	return search.parallel(nodes, async (id) => {
		const known = search.tree.node(id)?.scores.get(ask.scorer);
		if (known !== undefined) return known;
		const replies = await search.ask(ask.messages(id), {
			n: ask.samples,
			...(ask.temperature === undefined ? {} : { temperature: ask.temperature }),
		});
		const values = replies.map((reply) => readValue(reply, ask.form)).filter((value) => value !== null);
		const value = values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
		if (value === null)
			search.note({ t: 'fault', id, part: 'policy', message: 'The self-evaluation returned no value.' });
		search.note({ t: 'score', id, scorer: ask.scorer, value });
		return value;
	});
}

export interface SelfVote {
	readonly scorer: string;
	readonly messages: readonly ChatMessage[];
	readonly votes: number;
	readonly temperature?: number;
}

/**
 * Returns each node's fraction of the policy's votes, in order, and logs the fractions as scores. Replies that vote for
 * none of the nodes are ignored. Without any valid vote, no node gets a value, which is logged as a fault.
 */
export async function voteByPrompt(
	search: Search,
	nodes: readonly number[],
	ask: SelfVote,
): Promise<(number | null)[]> {
	const known = nodes.map((id) => search.tree.node(id)?.scores.get(ask.scorer));
	if (known.every((value) => value !== undefined)) return known as (number | null)[];
	const replies = await search.ask(ask.messages, {
		n: ask.votes,
		...(ask.temperature === undefined ? {} : { temperature: ask.temperature }),
	});
	const votes = replies.map((reply) => readVote(reply, nodes.length)).filter((vote) => vote !== null);
	if (votes.length === 0 && nodes.length > 0) {
		search.note({
			t: 'fault',
			id: nodes[0] as number,
			part: 'policy',
			message: 'The policy cast no valid vote.',
		});
	}
	return nodes.map((id, i) => {
		const value = votes.length === 0 ? null : votes.filter((vote) => vote === i).length / votes.length;
		search.note({ t: 'score', id, scorer: ask.scorer, value });
		return value;
	});
}
