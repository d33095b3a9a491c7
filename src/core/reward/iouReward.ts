import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { type MatchedBox, matchBoxes } from '../vision/matchBoxes.ts';
import { goldBoxes, parseBoxes } from '../vision/parseBoxes.ts';
import { answerOf, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'iou'>, 'column' | 'threshold' | 'measure'>;

/**
 * Scores the boxes in an answer against the gold boxes (Visual-RFT, Liu et al. 2025, section 3.2). `iou`: the sum of the
 * IoUs of matched boxes, divided by the number of boxes in the answer or of gold boxes, whichever is larger.
 * `confidence`: the mean of the confidence of matched boxes, and of 1 minus that of the others. 0 if the answer is
 * missing or cannot be read; null if there are no readable gold boxes.
 */
export function iouReward(sample: RewardSample, options: Options, tags: TraceTags): number | null {
	const gold = goldBoxes(goldValue(sample, options.column));
	if (gold === null) return null;
	const answer = answerOf(sample, tags);
	const given = answer === null ? null : parseBoxes(answer);
	if (given === null) return 0;
	if (given.length === 0) return gold.length === 0 ? 1 : 0;
	const matched = matchBoxes(given, gold, options.threshold);
	return options.measure === 'iou' ? meanOverlap(matched, gold.length) : calibration(matched);
}

function goldValue({ answer, row }: RewardSample, column: string | undefined): unknown {
	if (column === undefined) return answer;
	return Object.hasOwn(row, column) ? row[column] : null;
}

function meanOverlap(matched: readonly MatchedBox[], gold: number): number {
	return matched.reduce((sum, { iou }) => sum + iou, 0) / Math.max(matched.length, gold);
}

/** Returns 0 if any box has no confidence. */
function calibration(matched: readonly MatchedBox[]): number {
	let sum = 0;
	for (const { box, gold } of matched) {
		if (box.confidence === null) return 0;
		sum += gold === null ? 1 - box.confidence : box.confidence;
	}
	return sum / matched.length;
}
