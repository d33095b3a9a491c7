import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { DrawnBox, RolloutPicture } from '../../protocol/rolloutPicture.ts';
import { type Box, hasArea } from './box.ts';
import { matchBoxes } from './matchBoxes.ts';
import { goldBoxes, parseBoxes } from './parseBoxes.ts';

/** Settings of the reward `iou` that are needed to draw boxes. */
export type BoxSettings = Pick<RewardEntry<'iou'>, 'column' | 'threshold' | 'unit'>;

/** Maximum length of a drawn label, in characters. */
const longestLabel = 60;

/**
 * Returns the gold boxes and the boxes in an answer, to draw on a picture. Boxes are clipped to the picture, and those
 * with no area left are omitted.
 * @param answer null if the completion has no single answer
 * @param gold value in the dataset
 */
export function drawnBoxes(
	answer: string | null,
	gold: unknown,
	{ threshold, unit }: BoxSettings,
	picture: Pick<RolloutPicture, 'width' | 'height'>,
): DrawnBox[] {
	const expected = goldBoxes(gold) ?? [];
	const given = (answer === null ? null : parseBoxes(answer)) ?? [];
	const [width, height] =
		unit === 'pixels' ? [picture.width, picture.height] : unit === 'thousandths' ? [1000, 1000] : [1, 1];
	const drawn = (box: Box, kind: DrawnBox['kind'], iou: number | null): DrawnBox[] => {
		const [left, right] = [box.left, box.right].map((x) => clip(x / width)) as [number, number];
		const [top, bottom] = [box.top, box.bottom].map((y) => clip(y / height)) as [number, number];
		if (!hasArea({ ...box, left, right, top, bottom })) return [];
		const label = box.label?.slice(0, longestLabel) ?? null;
		return [{ kind, left, top, width: right - left, height: bottom - top, label, confidence: box.confidence, iou }];
	};
	return [
		...expected.flatMap((box) => drawn(box, 'gold', null)),
		...matchBoxes(given, expected, threshold).flatMap(({ box, gold: place, iou }) =>
			drawn(box, place === null ? 'unmatched' : 'matched', place === null ? null : iou),
		),
	];
}

const clip = (fraction: number) => Math.min(1, Math.max(0, fraction));
