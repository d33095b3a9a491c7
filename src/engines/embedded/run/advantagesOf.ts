import { type AdvantageKeys, advantageSettings } from '../../../core/grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../../../core/grpo/advantages/estimate.ts';
import type { Advantages } from '../../../core/grpo/advantages/groupAdvantages.ts';
import type { RowScore } from '../../shared/scoreBatch.ts';
import type { StageHost } from './stageHost.ts';

/** Returns the advantages of a batch, whose rows are contiguous within groups. */
export function advantagesOf(
	{ parts }: Pick<StageHost, 'parts'>,
	stage: AdvantageKeys & { readonly num_generations: number },
	rows: readonly RowScore[],
): Advantages {
	const columns = parts.rewards.scorers.map(({ column }) => column);
	return estimateAdvantages(
		rows.map(({ rewards, reward }) => ({ values: columns.map(({ name }) => rewards[name] ?? null), reward })),
		columns.map(({ weight }) => weight),
		stage.num_generations,
		advantageSettings(stage),
	);
}
