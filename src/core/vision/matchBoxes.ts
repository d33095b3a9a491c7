import { type Box, intersectionOverUnion } from './box.ts';

/** A box in an answer, with the gold box it was matched to. */
export interface MatchedBox {
	readonly box: Box;
	/** Index of the matched gold box, or null if none of the remaining ones overlaps enough. */
	readonly gold: number | null;
	/** IoU with the matched gold box, or 0. */
	readonly iou: number;
}

const plain = (label: string | null) => (label === null ? null : label.trim().toLowerCase());

function labelsAgree(box: Box, gold: Box): boolean {
	return box.label === null || gold.label === null || plain(box.label) === plain(gold.label);
}

/**
 * Matches the boxes in an answer to gold boxes as Visual-RFT does (Liu et al. 2025, section 3.2): in order of
 * decreasing confidence, each takes the remaining gold box with the highest IoU, if that is above the threshold. Boxes
 * without a confidence keep their order and come before less certain ones. A box in the same place as an earlier one is
 * dropped. Boxes with different labels never match.
 */
export function matchBoxes(given: readonly Box[], gold: readonly Box[], threshold: number): MatchedBox[] {
	const sorted = distinct(given).sort((a, b) => (b.confidence ?? 1) - (a.confidence ?? 1));
	const free = new Set(gold.keys());
	return sorted.map((box) => {
		let best: number | null = null;
		let iou = 0;
		for (const place of free) {
			const candidate = gold[place] as Box;
			const overlap = labelsAgree(box, candidate) ? intersectionOverUnion(box, candidate) : 0;
			if (overlap > iou) [best, iou] = [place, overlap];
		}
		if (best === null || iou <= threshold) return { box, gold: null, iou: 0 };
		free.delete(best);
		return { box, gold: best, iou };
	});
}

function distinct(boxes: readonly Box[]): Box[] {
	const places = new Map<string, Box>();
	for (const box of boxes) {
		const place = `${box.left} ${box.top} ${box.right} ${box.bottom}`;
		if (!places.has(place)) places.set(place, box);
	}
	return [...places.values()];
}
