import { type AdvantageKeys, advantageSettings } from '../../../core/grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../../../core/grpo/advantages/estimate.ts';
import type { Advantages } from '../../../core/grpo/advantages/groupAdvantages.ts';
import { creditedTurns } from './episodes/turnCredit.ts';
import type { Rollout } from './rollout.ts';
import type { StageHost } from './stageHost.ts';

/** Advantage of a completion, or one for each of its turns. */
export type RowAdvantage = number | Float64Array;

export interface BatchAdvantages extends Omit<Advantages, 'values'> {
	readonly values: readonly RowAdvantage[];
}

/** Returns the advantages of a batch, whose rows are contiguous within groups. */
export function advantagesOf(
	{ parts }: Pick<StageHost, 'parts'>,
	stage: AdvantageKeys & { readonly num_generations: number },
	rows: readonly Rollout[],
): BatchAdvantages {
	const columns = parts.rewards.scorers.map(({ column }) => column);
	const settings = advantageSettings(stage);
	const { values, dead, groupStd } = estimateAdvantages(
		rows.map(({ rewards, reward }) => ({ values: columns.map(({ name }) => rewards[name] ?? null), reward })),
		columns.map(({ weight }) => weight),
		stage.num_generations,
		settings,
	);
	if (stage.credit_assignment !== 'turn') return { values: [...values], dead, groupStd };
	const own = parts.recipe.rewards.filter((reward) => 'use' in reward && reward.use === 'environment');
	const weight = own.reduce((sum, reward) => sum + reward.weight, 0);
	const turns = creditedTurns(rows, weight, stage.num_generations, settings.scale);
	const size = stage.num_generations;
	const still = (g: number) => turns.slice(g * size, (g + 1) * size).every((one) => one.every((value) => value === 0));
	return { values: turns, dead: dead.map((_, g) => still(g)), groupStd };
}
