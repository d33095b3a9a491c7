import * as v from 'valibot';
import { count, real } from './recipeFields.ts';

/** The recipe's `scoring`: what reward files may take, and how many failures a run goes on with. */
export const scoringSchema = v.strictObject({
	pauseAbove: v.optional(
		real(
			'The run pauses when a reward fails on more than this share of the rows of a generation batch (default 0.1).',
			0,
			1,
		),
	),
	batchSeconds: v.optional(
		real(
			'Seconds for a generation batch in one reward file; then its rows are scored one by one (default 60).',
			0.1,
			86_400,
		),
	),
	rowSeconds: v.optional(real('Seconds for one row, where rows are scored one by one (default 5).', 0.01, 86_400)),
	loadSeconds: v.optional(real('Seconds for loading a reward file with its imports (default 60).', 0.1, 86_400)),
	memoryMb: v.optional(
		count('MB of resident memory for a reward file and the processes that it starts (default 2048).', 64, 1_000_000),
	),
});
