import { type RewardedTurns, turnAdvantages } from '../../../../core/grpo/advantages/turnAdvantages.ts';
import type { ScaleRewards } from '../../../../protocol/recipeKeys/groupStages.ts';
import type { PerToken } from '../../learner.ts';
import type { Rollout } from '../rollout.ts';

/** Returns the number of tokens in each turn that the policy wrote. A turn ends where the environment answers. */
export function turnLengths({ tokens, promptLength, trained }: Rollout['sample']): number[] {
	if (trained === undefined) return [tokens.length - promptLength];
	const lengths: number[] = [];
	for (const [t, one] of trained.entries()) {
		if (one === 0) continue;
		if (t > 0 && trained[t - 1] === 1) lengths[lengths.length - 1] = (lengths.at(-1) as number) + 1;
		else lengths.push(1);
	}
	return lengths;
}

/** @param weight weight of the environment's reward, which includes the turn rewards */
function rewardedTurns({ sample, reward, episode }: Rollout, weight: number): RewardedTurns {
	const turns = turnLengths(sample).map((_, k) => {
		const earned = episode?.turns?.[k]?.reward ?? null;
		return earned === null ? null : weight * earned;
	});
	return { reward, turns };
}

/** Returns the advantages of each rollout's turns; see `turnAdvantages`. */
export function creditedTurns(
	rollouts: readonly Rollout[],
	weight: number,
	groupSize: number,
	scale: ScaleRewards,
): Float64Array[] {
	const rows = rollouts.map((rollout) => rewardedTurns(rollout, weight));
	return turnAdvantages(rows, groupSize, scale);
}

/** Returns the advantage of each token that the policy wrote. */
export function tokensOfTurns(sample: Rollout['sample'], turns: Float64Array): PerToken {
	return Float32Array.from(turnLengths(sample).flatMap((length, k) => new Array(length).fill(turns[k] as number)));
}
