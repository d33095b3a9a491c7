import * as v from 'valibot';
import { choice, count, real } from '../../../protocol/recipeKeys/recipeFields.ts';
import { bestFinal, finalsOf, judgeFinals, votedFinal } from '../choice.ts';
import { type ForkCriterion, forkPlaces, forkStatistics, forkStrength } from '../forkRule.ts';
import type { GenerateOptions, Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import { openChildren, ranked } from './ranking.ts';

const paramsSchema = v.strictObject({
	statistic: v.optional(
		choice(
			forkStatistics,
			'Fork criterion: the token type rule (dominant, close, several high or flat) or a threshold on one statistic of the next-token distribution; gap is the probability difference between the two most probable tokens',
		),
		'rule',
	),
	threshold: v.optional(
		real(
			'Fork if entropy or varentropy is at least this value, or if Gini, variance or gap is at most this value. The default depends on the statistic',
			0,
		),
	),
	forks: v.optional(count('Max number of forks per completion; the strongest are used', 1, 1000), 4),
	branches: v.optional(count('How many of the most probable tokens to try at a fork', 2, 20), 2),
	minProbability: v.optional(real('Min probability of a token to try', 0, 1), 0.05),
	depth: v.optional(count('Max number of forks on one path from the problem to an answer', 1, 64), 2),
	leaves: v.optional(count('Max number of completions', 1, 100_000), 16),
	temperature: v.optional(real('Temperature between forks', 0, 10), 0),
	result: v.optional(
		choice(
			['majority', 'probability', 'scorer'],
			'Select the most frequent answer, the completion with the highest mean log-probability, or the highest-scoring completion',
		),
		'majority',
	),
});
export type TokenForkingParams = v.InferOutput<typeof paramsSchema>;

/** An untried alternative token. */
interface Alternative {
	/** Node that the token would follow. */
	readonly after: number;
	readonly token: string;
	readonly instead: string;
	readonly probability: number;
}

export const tokenForking: Strategy<TokenForkingParams> = {
	name: 'token-forking',
	title: 'Token Forking',
	description: 'Completes the problem and tries alternative tokens where the next-token distribution is uncertain.',
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

/** Returns all untried tokens at forks, most probable first. */
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

/** Returns the nodes below the start of the search, oldest first. */
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

/** Returns the mean log-probability over a completion's tokens, including forced ones; null if unknown. */
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
