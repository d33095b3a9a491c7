import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { RolloutSplit, RunContent } from '../../runs/runContent.ts';
import { pageOf, quote, quoteAll } from '../answer.ts';
import * as input from '../inputs.ts';
import { defineTool } from '../tool.ts';

/** Returns plain text as is, or messages as a JSON string. */
const textOf = (text: RolloutLine['prompt']): string => (typeof text === 'string' ? text : JSON.stringify(text));

/** Rollout with its index in the group. Indexes of unreadable rollouts are skipped. */
interface IndexedRollout {
	readonly index: number;
	readonly rollout: RolloutLine;
}

async function groupOf(
	{ content, name }: { content: RunContent; name: string },
	{ step, group, split }: { step: number; group: number; split: RolloutSplit },
	signal: AbortSignal,
): Promise<readonly IndexedRollout[]> {
	const rollouts = await content.open(step, split);
	try {
		const found: IndexedRollout[] = [];
		for await (const { rollout, place } of rollouts.rollouts(signal)) {
			if (place !== null && place.group === group) found.push({ index: place.index, rollout });
		}
		if (found.length === 0) {
			throw new Failure(
				'missing',
				`Step ${step} of ${name} has no group ${group}.`,
				'Call read_step to list its groups.',
			);
		}
		return found.sort((a, b) => a.index - b.index);
	} finally {
		await rollouts.close();
	}
}

export const readStep = defineTool({
	name: 'read_step',
	title: 'Read a step',
	description:
		'List the groups in a step: number of completions, mean, min and max reward, number truncated, and the start of the prompt.',
	input: v.object({
		run: input.run,
		step: input.step,
		split: input.split,
		limit: input.limit(50),
		cursor: input.cursor,
	}),
	async run({ run: named, step, split, limit, cursor }, { runs, signal }) {
		const { run, content } = await runs.open(named);
		const rollouts = await content.open(step, split);
		const groups = new Map<number, RolloutLine[]>();
		try {
			for await (const { rollout, place } of rollouts.rollouts(signal)) {
				if (place === null) continue;
				const group = groups.get(place.group);
				if (group === undefined) groups.set(place.group, [rollout]);
				else group.push(rollout);
			}
		} finally {
			await rollouts.close();
		}
		const page = pageOf(
			[...groups].sort(([a], [b]) => a - b),
			cursor,
			limit,
		);
		return {
			run: run.name,
			step,
			...page,
			items: page.items.map(([group, lines]) => {
				const rewards = lines.flatMap(({ reward }) => (reward === null ? [] : [reward]));
				const known = lines.flatMap(({ truncated }) => (truncated === null ? [] : [truncated]));
				return {
					group,
					address: formatAddress({ kind: 'group', run: run.name, split, step, group }),
					completions: lines.length,
					mean_reward: rewards.length === 0 ? null : rewards.reduce((sum, one) => sum + one, 0) / rewards.length,
					min_reward: rewards.length === 0 ? null : Math.min(...rewards),
					max_reward: rewards.length === 0 ? null : Math.max(...rewards),
					truncated: known.length === 0 ? null : known.filter((one) => one).length,
					prompt: quote(textOf(lines[0]?.prompt ?? ''), 200),
				};
			}),
		};
	},
});

export const readGroup = defineTool({
	name: 'read_group',
	title: 'Read a group',
	description: 'Read the completions in a group with their rewards and advantages, page by page.',
	input: v.object({
		run: input.run,
		step: input.step,
		group: input.group,
		split: input.split,
		characters: input.characters,
		limit: input.limit(16),
		cursor: input.cursor,
	}),
	async run({ run: named, step, group, split, characters, limit, cursor }, { runs, signal }) {
		const { run, content } = await runs.open(named);
		const lines = await groupOf({ content, name: run.name }, { step, group, split }, signal);
		const page = pageOf(lines, cursor, limit);
		const first = lines[0]?.rollout;
		return {
			run: run.name,
			address: formatAddress({ kind: 'group', run: run.name, split, step, group }),
			prompt: quote(textOf(first?.prompt ?? ''), characters),
			answer: first?.answer === undefined ? null : quote(String(first.answer), characters),
			...page,
			items: page.items.map(({ index: completion, rollout: line }) => {
				return {
					completion,
					address: formatAddress({ kind: 'completion', run: run.name, split, step, group, completion, tokens: null }),
					...scoresOf(line),
					text: quote(textOf(line.completion), characters),
				};
			}),
		};
	},
});

const scoresOf = ({ reward, rewards, advantage, truncated, tokens }: RolloutLine) => ({
	reward,
	rewards: quoteAll(rewards),
	advantage,
	truncated,
	tokens: tokens?.text.length ?? null,
});

export const readCompletion = defineTool({
	name: 'read_completion',
	title: 'Read a completion',
	description:
		'Read one completion: its text from an offset, or a range of tokens with log-probabilities and entropies if recorded.',
	input: v.object({
		run: input.run,
		step: input.step,
		group: input.group,
		completion: input.completion,
		split: input.split,
		offset: v.optional(input.described(input.whole(0, 1e9), 'Character offset to start from.'), 0),
		characters: input.characters,
		first_token: v.optional(input.described(input.whole(0, 1e9), 'Index of the first token to read, from 0.')),
		last_token: v.optional(
			input.described(input.whole(0, 1e9), 'Index of the last token to read. A range holds at most 200 tokens.'),
		),
	}),
	async run({ run: named, step, group, completion, split, offset, characters, ...range }, { runs, signal }) {
		const { run, content } = await runs.open(named);
		const lines = await groupOf({ content, name: run.name }, { step, group, split }, signal);
		const line = lines.find(({ index }) => index === completion)?.rollout;
		if (line === undefined) {
			throw new Failure(
				'missing',
				`Group ${group} of step ${step} has only ${lines.length} completions, so completion ${completion} does not exist.`,
				'Indexes start at 0.',
			);
		}
		const tokens = tokensOf(line, range.first_token, range.last_token);
		const cited = tokens === null ? null : ([tokens.first, tokens.last] as const);
		return {
			run: run.name,
			address: formatAddress({ kind: 'completion', run: run.name, split, step, group, completion, tokens: cited }),
			...scoresOf(line),
			prompt: quote(textOf(line.prompt), characters),
			text: quote(textOf(line.completion), characters, offset),
			...(tokens === null ? {} : { token_range: tokens }),
		};
	},
});

const maxTokens = 200;

function tokensOf({ tokens }: RolloutLine, from: number | undefined, to: number | undefined) {
	if (from === undefined && to === undefined) return null;
	if (tokens === undefined) throw new Failure('missing', 'This run does not record tokens.', 'Read the text instead.');
	const first = from ?? 0;
	if (first >= tokens.text.length) {
		throw new Failure(
			'invalid',
			`The completion has only ${tokens.text.length} tokens, so token ${first} does not exist.`,
		);
	}
	const last = Math.min(to ?? first + maxTokens - 1, tokens.text.length - 1);
	if (last < first)
		throw new Failure('invalid', `The range ends at token ${last}, before its start at token ${first}.`);
	if (last - first >= maxTokens) {
		throw new Failure(
			'invalid',
			`The range has ${last - first + 1} tokens, which is too many.`,
			`Request at most ${maxTokens}.`,
		);
	}
	const part = <T>(values: readonly T[] | undefined) => values?.slice(first, last + 1) ?? null;
	return {
		first,
		last,
		quoted_text: part(tokens.text),
		logprob: part(tokens.logprob),
		old_logprob: part(tokens.oldLogprob),
		ref_logprob: part(tokens.refLogprob),
		entropy: part(tokens.entropy),
		weights_version: part(tokens.version),
	};
}
