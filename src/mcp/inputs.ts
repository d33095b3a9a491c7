/** Arguments shared by several tools. */
import * as v from 'valibot';
import { rolloutSplits } from '../protocol/rolloutSplit.ts';
import { defaultCharacters, maxCharacters, maxRows } from './answer.ts';

const whole = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
const described = <T extends v.GenericSchema<unknown, unknown>>(schema: T, text: string) =>
	v.pipe(schema, v.description(text));

export const run = described(v.pipe(v.string(), v.maxLength(4096)), 'Name of a run, as list_runs gives it.');
export const split = v.optional(
	described(v.picklist(rolloutSplits), 'Rollouts of training, or of evaluations.'),
	'train',
);
export const step = described(whole(0, 1e12), 'Training step.');
export const group = described(whole(0, 1e9), 'Group within the step: the completions of one prompt.');
export const completion = described(whole(0, 1e9), 'Completion within the group.');
export const cursor = v.optional(described(whole(0, 1e9), 'next_cursor of the page before.'), 0);
export const limit = (usual: number) =>
	v.optional(described(whole(1, maxRows), `Rows of a page; at most ${maxRows}.`), usual);
export const characters = v.optional(
	described(whole(1, maxCharacters), `Characters of each quoted text; at most ${maxCharacters}.`),
	defaultCharacters,
);
export const text = (meaning: string, max = 4096) => described(v.pipe(v.string(), v.maxLength(max)), meaning);
export { described, whole };
