import * as v from 'valibot';
import { choice, count, real } from '../../../protocol/recipeFields.ts';
import { bestFinal, finalsOf, judgeFinals, votedFinal } from '../choice.ts';
import { type ForkCriterion, forkPlaces, forkStatistics, forkStrength } from '../forkRule.ts';
import type { GenerateOptions, Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import { openChildren, ranked } from './ranking.ts';

const paramsSchema = v.strictObject({
	statistic: v.optional(
		choice(
			forkStatistics,
			'What decides where to fork: the rule of dominant, close, several high and flat, or the limit of one statistic of the next-token distribution; gap: between the two most probable tokens',
		),
		'rule',
	),
	threshold: v.optional(
		real(
			'Forks where entropy or varentropy is at least this, or Gini, variance or gap at most; default by statistic',
			0,
		),
	),
	forks: v.optional(count('Forks of one completion at most, the strongest ones', 1, 1000), 4),
	branches: v.optional(count('Tokens that are tried at a fork, the most probable ones', 2, 20), 2),
	minProbability: v.optional(real('Tokens that are less probable are not tried', 0, 1), 0.05),
	depth: v.optional(count('Forks on one way from the problem to an answer', 1, 64), 2),
	leaves: v.optional(count('Completions at most', 1, 100_000), 16),
	temperature: v.optional(real('Temperature between the forks', 0, 10), 0),
	result: v.optional(
		choice(
			['majority', 'probability', 'scorer'],
			'The most frequent answer, the completion of the highest mean log-probability, or the one that the scorer values most',
		),
		'majority',
	),
});
export type TokenForkingParams = v.InferOutput<typeof paramsSchema>;

/** An alternative token that has not been tried. */
interface Alternative {
	/** Node that it would follow. */
	readonly after: number;
	readonly token: string;
	readonly instead: string;
	readonly probability: number;
}

export const tokenForking: Strategy<TokenForkingParams> = {
	name: 'token-forking',
	title: 'Token Forking',
	description:
		'Completes the problem, and tries other tokens where the next-token distribution says that it could go on otherwise.',
	source: 'Besta et al. 2025',
	structure: 'tree',
	params: paramsSchema,
	needs: { policy: ['prefix', 'alternatives'] },
	needsWith: ({ result }) => (result === 'scorer' ? { scorer: 'final' } : {}),
	async run(search, params) {
		const criterion: ForkCriterion = { statistic: params.statistic, threshold: params.threshold };
		const options: GenerateOptions = {
			unit: 'completion',
			sampling: { temperature: params.temperature, tokens: Math.max(5, params.branches) },
			cut: (detail) => forkPlaces(detail, criterion, params.forks).filter((place) => place > 0),
		};
		if (openChildren(search, search.root).length === 0) await search.generate(search.root, options);
		for (;;) {
			const room = params.leaves - finalsOf(search).length;
			const wave = alternatives(search, params, criterion).slice(0, Math.max(0, room));
			if (wave.length === 0) break;
			await search.parallel(wave, async ({ after, token, instead, probability }) => {
				const forced = search.add({
					parents: [after],
					text: token,
					prior: probability,
					tokens: 1,
					label: forkLabel(token, instead),
				});
				search.select(forced.id);
				await search.generate(forced.id, options);
			});
		}
		return { stop: finalsOf(search).length === 0 ? 'exhausted' : 'complete' };
	},
	async conclude(search, { result }) {
		if (result === 'scorer') return bestFinal(search, await judgeFinals(search));
		const finals = finalsOf(search);
		if (result === 'majority') return votedFinal(search, finals, false);
		const ids = finals.map(({ id }) => id);
		const [best] = ranked(
			ids,
			ids.map((id) => meanLogprob(search, id)),
		);
		return { best: best?.id ?? null, value: best?.value ?? null };
	},
};

/** All that could be tried, the most probable first: at each token that asks for a fork what was not taken there. */
function alternatives(search: Search, params: TokenForkingParams, criterion: ForkCriterion): Alternative[] {
	const open: Alternative[] = [];
	for (const { id, parents } of nodesBelow(search)) {
		const [after] = parents;
		const detail = search.tokensOf(id);
		if (after === undefined || detail === null || !((forkStrength(detail, 0, criterion) ?? 0) > 0)) continue;
		if (forksOnWay(search, after) >= params.depth) continue;
		const instead = detail.text[0] ?? '';
		const top = [...(detail.top?.[0] ?? [])].sort((a, b) => b[1] - a[1]).slice(0, params.branches);
		const taken = new Set((search.tree.node(after)?.children ?? []).map((child) => firstToken(search, child)));
		for (const [token, logprob] of top) {
			const probability = Math.exp(logprob);
			if (token === '' || taken.has(token) || probability < params.minProbability) continue;
			taken.add(token);
			open.push({ after, token, instead, probability });
		}
	}
	return open.sort((a, b) => b.probability - a.probability || a.after - b.after);
}

function firstToken(search: Search, id: number): string {
	return search.tokensOf(id)?.text[0] ?? search.tree.node(id)?.text ?? '';
}

/** Nodes below the one that the search began from, oldest first. */
function nodesBelow(search: Search) {
	const below = new Set([search.root]);
	return search.tree.nodes.filter(({ id, parents, pruned }) => {
		const inside = pruned === null && parents.some((parent) => below.has(parent));
		if (inside) below.add(id);
		return inside;
	});
}

function forksOnWay(search: Search, id: number): number {
	return search.tree.pathTo(id).filter((node) => search.tree.node(node)?.label?.startsWith(forkWords)).length;
}

const forkWords = 'Fork: ';
const forkLabel = (token: string, instead: string) =>
	`${forkWords}${JSON.stringify(token)} instead of ${JSON.stringify(instead)}`;

/** Over the tokens of a completion, the forced ones included; null: not told. */
function meanLogprob(search: Search, end: number): number | null {
	let [sum, count] = [0, 0];
	for (const id of search.tree.pathTo(end)) {
		const node = search.tree.node(id);
		if (node === undefined || node.parents.length === 0) continue;
		const logprob = node.logprob ?? (node.prior === null ? null : Math.log(node.prior));
		if (logprob === null) return null;
		sum += logprob;
		count += node.tokens ?? 0;
	}
	return count === 0 ? null : sum / count;
}
