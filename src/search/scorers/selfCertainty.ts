import { Failure } from '../../base/failure.ts';
import type { TokenDetail } from '../../core/search/policy.ts';
import type { ScoreItem } from '../../core/search/scorer.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { OpenScorer } from './scorerContext.ts';

/** Number of alternatives requested per token. */
const alternatives = 20;
/** Maximum number of prefixes with cached token data. */
const maxKnown = 50_000;
/** Maximum probability mass that alternatives may lack and still count as the full distribution. */
const rest = 1e-4;

interface Certainty {
	readonly sum: number;
	readonly tokens: number;
}

/**
 * Self-certainty (Kang, Zhao, Song 2025, "Scalable best-of-N selection for large language models via self-certainty",
 * eq. 5): the mean over a completion's tokens of KL(U || p) = -1/V sum_j log(V p(j)), in nats. The value is 0 for a
 * uniform distribution. A policy returns only the k most likely of V tokens; U is then uniform over those and p is not
 * renormalized, which gives nearly the same ranking.
 */
export function openSelfCertainty(policy: OpenPolicy): OpenScorer {
	if (policy.capabilities.alternatives < 2) {
		throw new Failure(
			'unsupported',
			`${policy.name} does not return alternative tokens, which self-certainty needs.`,
			'Choose mean-logprob, or another policy.',
		);
	}
	const available = Math.min(alternatives, policy.capabilities.alternatives);
	return {
		name: 'self-certainty',
		tokens: available,
		notes: [`Self-certainty is approximated from the ${available} most likely tokens at each position.`],
		bind: () => {
			// Keyed by completion, because scored text extends text that was scored earlier.
			const known = new Map<string, Certainty>();
			return {
				name: 'self-certainty',
				scope: 'step',
				oracle: false,
				async score(items) {
					return items.map((item) => {
						const own = certaintyOf(item.generation?.detail ?? null);
						if (own === null) return null;
						const before = known.get(prefixOf(item));
						const all = { sum: own.sum + (before?.sum ?? 0), tokens: own.tokens + (before?.tokens ?? 0) };
						if (known.size >= maxKnown) known.clear();
						known.set(item.completion, all);
						return all.tokens === 0 ? null : all.sum / all.tokens;
					});
				},
			};
		},
		dispose() {},
	};
}

/** Returns a completion without its last step. */
function prefixOf({ completion, steps }: ScoreItem): string {
	const last = steps.at(-1) ?? '';
	return completion.endsWith(last) ? completion.slice(0, completion.length - last.length) : '';
}

/** Sums over the tokens whose alternatives were reported; null if there are none. */
export function certaintyOf(detail: TokenDetail | null): Certainty | null {
	if (detail?.top === undefined) return null;
	let sum = 0;
	let tokens = 0;
	for (const top of detail.top) {
		if (top.length < 2) continue;
		const mass = top.reduce((all, [, logprob]) => all + Math.exp(logprob), 0);
		// A small vocabulary is reported in full, except for a small remainder due to rounding.
		const scale = mass > 1 - rest ? Math.log(mass) : 0;
		const mean = top.reduce((all, [, logprob]) => all + (logprob - scale), 0) / top.length;
		sum += -mean - Math.log(top.length);
		tokens++;
	}
	return tokens === 0 ? null : { sum, tokens };
}
