import { messageText } from '../../../core/trace/messageText.ts';
import { parseTrace, soleAnswer } from '../../../core/trace/parseTrace.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import { type BoxSettings, drawnBoxes } from '../../../core/vision/drawnBoxes.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import { type DrawnBox, rolloutPicture } from '../../../protocol/rolloutPicture.ts';

/**
 * Returns the boxes to draw on the picture in a rollout's prompt; none without a picture or a reward that scores
 * boxes.
 */
export function boxesOf(
	line: RolloutLine,
	{ think, answer, boxes }: TraceTags & { readonly boxes: BoxSettings | null },
): DrawnBox[] {
	const picture = rolloutPicture(line.extra);
	if (picture === null || boxes === null) return [];
	const tags = { think, answer };
	// As in rewards, a conversation's answer is in its last message.
	const last = typeof line.completion === 'string' ? line.completion : messageText(line.completion.slice(-1));
	return drawnBoxes(soleAnswer(parseTrace(last, tags), tags), goldOf(line, boxes.column), boxes, picture);
}

function goldOf({ answer, row }: RolloutLine, column: string | undefined): unknown {
	if (column === undefined) return answer;
	return typeof row === 'object' && row !== null && Object.hasOwn(row, column)
		? (row as Record<string, unknown>)[column]
		: null;
}
