/** A box on a picture, in any units. Coordinates are measured from the left and top edges. */
export interface Box {
	readonly left: number;
	readonly top: number;
	readonly right: number;
	readonly bottom: number;
	/** Confidence from 0 to 1, or null if none was given. */
	readonly confidence: number | null;
	/** Category, or null if none was given. */
	readonly label: string | null;
}

/** Maximum number of boxes in an answer or a gold value. Matching time grows with the square of this number. */
export const maxBoxes = 200;

/** Largest coordinate. Larger numbers are not coordinates on a picture, and their products lose precision. */
const largest = 1e6;

/**
 * Creates a box from corner coordinates; null unless there are exactly four finite numbers of a plausible size.
 * @param confidence ignored unless it is a number; a value outside [0, 1] makes the box invalid
 */
export function boxFrom(corners: unknown, confidence?: unknown, label?: unknown): Box | null {
	if (!Array.isArray(corners) || corners.length !== 4) return null;
	const numbers = corners.map((value) => (typeof value === 'number' ? value : Number.NaN));
	if (!numbers.every((value) => Math.abs(value) <= largest)) return null;
	const [left, top, right, bottom] = numbers as [number, number, number, number];
	if (typeof confidence === 'number' && !(confidence >= 0 && confidence <= 1)) return null;
	return {
		left,
		top,
		right,
		bottom,
		confidence: typeof confidence === 'number' ? confidence : null,
		label: typeof label === 'string' && label.trim() !== '' ? label.trim() : null,
	};
}

/** Returns whether a box has an area. The corners of a model's box may be in any order. */
export function hasArea({ left, top, right, bottom }: Box): boolean {
	return right > left && bottom > top;
}

const area = ({ left, top, right, bottom }: Box) => (right - left) * (bottom - top);

/** Intersection over union (Jaccard index) of two boxes; 0 if they do not overlap or one of them has no area. */
export function intersectionOverUnion(a: Box, b: Box): number {
	if (!hasArea(a) || !hasArea(b)) return 0;
	const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
	const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
	if (width <= 0 || height <= 0) return 0;
	const shared = width * height;
	return shared / (area(a) + area(b) - shared);
}
