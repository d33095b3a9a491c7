import { count, real } from './recipeFields.ts';
import { group, key } from './recipeKey.ts';

/** The recipe's `scoring`: resource limits for reward files, and the failure rate that a run tolerates. */
export const scoringSchema = group({
	pauseAbove: key(
		real('The run pauses if a reward fails on more than this fraction of the rows in a generation batch.', 0, 1),
		0.1,
	),
	batchSeconds: key(
		real(
			'Time limit in seconds for a reward file to score a generation batch. If it is exceeded, the rows are scored one by one.',
			0.1,
			86_400,
		),
		60,
	),
	rowSeconds: key(real('Time limit in seconds per row when rows are scored one by one.', 0.01, 86_400), 5),
	loadSeconds: key(real('Time limit in seconds for loading a reward file and its imports.', 0.1, 86_400), 60),
	memoryMb: key(
		count('Resident memory limit, in MB, for a reward file and the processes it starts.', 64, 1_000_000),
		2048,
	),
});
