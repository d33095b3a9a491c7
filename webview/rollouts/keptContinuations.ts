import * as v from 'valibot';
import { placeSchema } from '../../src/protocol/rolloutsMessages.ts';

const text = (max: number) => v.pipe(v.string(), v.maxLength(max));

/** Maximum total number of characters to save. Needed because every save copies all of them. */
export const maxKeptCharacters = 400_000;

/** Unsent prefix of a completion. */
export const draftSchema = v.object({
	place: placeSchema,
	prefix: text(maxKeptCharacters),
	/** Settings as typed by the user. */
	temperature: text(100),
	tokens: text(100),
});
export type Draft = v.InferOutput<typeof draftSchema>;

export const keptContinuationsSchema = v.object({
	drafts: v.pipe(v.array(draftSchema), v.maxLength(20)),
	made: v.pipe(
		v.array(
			v.object({
				number: v.pipe(v.number(), v.integer(), v.minValue(1)),
				place: placeSchema,
				prefix: text(maxKeptCharacters),
				text: text(maxKeptCharacters),
				state: v.picklist(['finished', 'stopped', 'failed']),
				ended: v.boolean(),
				failure: v.nullable(text(2000)),
				temperature: v.number(),
			}),
		),
		v.maxLength(20),
	),
});
export type KeptContinuations = v.InferOutput<typeof keptContinuationsSchema>;
