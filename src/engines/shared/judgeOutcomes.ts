import { Failure } from '../../base/failure.ts';
import type { ScoreRow } from '../../protocol/scorer.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';

/**
 * Returns 1 for correct, 0 for incorrect, or null for completions to which the run's accuracy does not apply. Throws
 * `unavailable` if accuracy cannot be measured.
 */
export async function judgeOutcomes(
	{ rewards }: { readonly rewards: Pick<RecipeScorers, 'accuracy' | 'reload'> },
	rows: readonly ScoreRow[],
	step: number,
	what = 'Held-out accuracy',
): Promise<readonly (number | null)[]> {
	for (let attempt = 1; ; attempt++) {
		const { values, errors } = await rewards.accuracy.score(rows, { step });
		const [first] = errors;
		if (first === undefined) return values;
		if (attempt === 2) {
			throw new Failure(
				'unavailable',
				`${what} could not be measured at step ${step}: ${first.message}`,
				'Fix the cause, then resume the run.',
			);
		}
		rewards.reload();
	}
}
