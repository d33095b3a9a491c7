import * as v from 'valibot';

/** Name of a picture in a run's `pictures` folder: the SHA-256 hash of its contents, so it cannot be a path. */
export const pictureFileSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}\.(?:png|jpg)$/));

/** Maximum size of a picture read from or written to a run, in bytes. Copies are at most 1024 pixels per side. */
export const largestPicture = 4 << 20;

/** Largest width and height of an original picture, in pixels. */
const longestSide = 16_384;

/** The picture of a rollout's prompt, as recorded in `extra.picture`. */
export const rolloutPictureSchema = v.object({
	file: pictureFileSchema,
	/** Size of the original in pixels. The copy in the run can be smaller. */
	width: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(longestSide)),
	height: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(longestSide)),
});
export type RolloutPicture = v.InferOutput<typeof rolloutPictureSchema>;

/** Returns a rollout's picture, or null if there is none or it is not recorded as expected. */
export function rolloutPicture(extra: Readonly<Record<string, unknown>> | undefined): RolloutPicture | null {
	const read = v.safeParse(rolloutPictureSchema, extra?.picture);
	return read.success ? read.output : null;
}

export const pictureTypes = ['image/png', 'image/jpeg'] as const;
export type PictureType = (typeof pictureTypes)[number];

/** A box to draw on a picture. Coordinates are fractions of the picture, from 0 to 1. */
export const drawnBoxSchema = v.object({
	/** `gold`: expected. `matched`: in the answer and matched to a gold box. `unmatched`: in the answer only. */
	kind: v.picklist(['gold', 'matched', 'unmatched']),
	left: v.number(),
	top: v.number(),
	width: v.number(),
	height: v.number(),
	label: v.nullable(v.string()),
	confidence: v.nullable(v.number()),
	/** IoU with the matched gold box; null for other boxes. */
	iou: v.nullable(v.number()),
});
export type DrawnBox = v.InferOutput<typeof drawnBoxSchema>;
