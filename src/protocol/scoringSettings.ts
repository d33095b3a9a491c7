import { count, real } from './recipeFields.ts';
import { group, key } from './recipeKey.ts';

/** The recipe's `scoring`: resource limits for reward files, and the failure rate that a run tolerates. */
export const scoringSchema = group({
	pauseAbove: key(
		real('The run pauses when a reward fails on more than this share of the rows of a generation batch.', 0, 1),
		0.1,
	),
	batchSeconds: key(
		real('Seconds for a generation batch in one reward file; then its rows are scored one by one.', 0.1, 86_400),
		60,
	),
	rowSeconds: key(real('Seconds for one row, where rows are scored one by one.', 0.01, 86_400), 5),
	loadSeconds: key(real('Seconds for loading a reward file with its imports.', 0.1, 86_400), 60),
	memoryMb: key(
		count('MB of resident memory for a reward file and the processes that it starts.', 64, 1_000_000),
		2048,
	),
});
