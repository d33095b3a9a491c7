/** Arguments shared by several tools. */
import * as v from 'valibot';
import { rolloutSplits } from '../protocol/rolloutSplit.ts';
import { defaultCharacters, maxCharacters, maxRows } from './answer.ts';

const whole = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
const described = <T extends v.GenericSchema<unknown, unknown>>(schema: T, text: string) =>
	v.pipe(schema, v.description(text));

export const run = described(v.pipe(v.string(), v.maxLength(4096)), 'Run name, as returned by list_runs.');
export const split = v.optional(described(v.picklist(rolloutSplits), 'Training or evaluation rollouts.'), 'train');
export const step = described(whole(0, 1e12), 'Training step.');
export const group = described(
	whole(0, 1e9),
	'Group index within the step. A group is the completions for one prompt.',
);
export const completion = described(whole(0, 1e9), 'Completion index within the group.');
export const cursor = v.optional(described(whole(0, 1e9), 'next_cursor from the previous page.'), 0);
export const limit = (usual: number) =>
	v.optional(described(whole(1, maxRows), `Rows per page, at most ${maxRows}.`), usual);
export const characters = v.optional(
	described(whole(1, maxCharacters), `Characters per quoted text, at most ${maxCharacters}.`),
	defaultCharacters,
);
export const text = (meaning: string, max = 4096) => described(v.pipe(v.string(), v.maxLength(max)), meaning);
export { described, whole };
