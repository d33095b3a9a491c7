import { judgesAnswer } from '../diagnosis/rewardNames.ts';

/**
 * Returns the name of the reward that determines whether a completion passes: accuracy; otherwise, another reward for
 * correct answers; otherwise, the first one with a nonzero weight.
 * @param columns rewards of the recipe, at least one of which has a nonzero weight
 */
export function passReward(columns: readonly { readonly name: string; readonly weight: number }[]): string | null {
	const find = (fits: (column: { readonly name: string; readonly weight: number }) => boolean) =>
		columns.find(fits)?.name;
	return (
		find(({ name }) => name === 'accuracy') ??
		find(({ name }) => judgesAnswer(name)) ??
		find(({ weight }) => weight !== 0) ??
		null
	);
}
