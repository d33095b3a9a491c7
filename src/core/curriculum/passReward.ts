import { judgesAnswer } from '../diagnosis/rewardNames.ts';

/**
 * Returns the reward that says whether a completion passes: accuracy, else another reward for correct answers, else the
 * first one that counts.
 * @param columns rewards of the recipe, of which one has a weight other than 0
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
