import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, goldTexts, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'classification'>, 'column'>;

/** Longest answer that can be a class name, in characters. */
const longest = 200;

/** Normalizes a class name by removing differences in case, separators and punctuation. */
function className(text: string): string {
	return text
		.normalize('NFKC')
		.toLowerCase()
		.replace(/[\s_\-./'"*`]+/gu, '')
		.replace(/^(?:\\boxed|\\text)?\{(.*)\}$/u, '$1');
}

/**
 * Returns 1 if the answer is the name of the gold class, ignoring case and separators ("Airbus_A320", "airbus a-320"),
 * 0 if it is wrong or missing, and null without a gold class. If the gold value is a list, its items are names of the
 * same class.
 */
export function classificationReward(sample: RewardSample, options: Options, tags: TraceTags): number | null {
	const names = goldTexts(sample, options.column).map(className).filter(Boolean);
	if (names.length === 0) return null;
	const answer = answerOf(sample, tags);
	if (answer === null || answer.length > longest) return 0;
	return names.includes(className(answer)) ? 1 : 0;
}
