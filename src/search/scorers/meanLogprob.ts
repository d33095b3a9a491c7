import { Failure } from '../../base/failure.ts';
import type { ScoreItem } from '../../core/search/scorer.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { OpenScorer } from './scorerContext.ts';

/**
 * exp of the mean log-probability of a completion's tokens: the geometric mean of their probabilities, 0..1 (1 /
 * perplexity). It ranks completions in the same order as the mean log-probability, and can be summed when answers are
 * weighted. If a policy did not return log-probabilities during generation, they are requested afterward. There is no
 * value if the policy does not support that.
 */
export function openMeanLogprob(policy: OpenPolicy): OpenScorer {
	const { logprobs, score } = policy.capabilities;
	if (!logprobs && !score) {
		throw new Failure(
			'unsupported',
			`${policy.name} does not return log-probabilities, which mean-logprob needs.`,
			'Choose another scorer or another policy.',
		);
	}
	return {
		name: 'mean-logprob',
		// If text was truncated at the end of a step, the probability of the remaining text is known only with per-token
		// data.
		tokens: score ? 0 : 1,
		bind({ signal }) {
			const bound = policy.bind({ signal });
			return {
				name: 'mean-logprob',
				scope: 'step',
				oracle: false,
				async score(items) {
					const values = items.map(({ logprob, tokens }) => value(logprob, tokens));
					const open = items.flatMap((item, i) => (values[i] === null && item.completion !== '' ? [i] : []));
					if (open.length === 0 || bound.score === undefined) return values;
					const scored = await bound.score(open.map((i) => textOf(items[i] as ScoreItem)));
					for (const [k, i] of open.entries()) {
						const list = scored[k] ?? [];
						values[i] = value(
							list.reduce((sum, one) => sum + one, 0),
							list.length,
						);
					}
					return values;
				},
			};
		},
		dispose() {},
	};
}

const textOf = ({ problem, completion }: ScoreItem) => ({
	messages: [{ role: 'user', content: problem.prompt }],
	completion,
});

function value(logprob: number | null, tokens: number | null): number | null {
	return logprob === null || tokens === null || tokens <= 0 ? null : Math.exp(logprob / tokens);
}
