import type { Failure } from '../../base/failure.ts';
import type { RewardDescription } from '../../protocol/rewardHost.ts';
import type { Verification } from '../../protocol/verification.ts';
import type { VerificationPlan } from '../../rewards/verificationPlan.ts';

/**
 * What the editor knows of one reward file: a complete snapshot, replaced on change.
 * - `idle`: never verified in this window; `loading`: its process starts and reads the file and its imports
 * - `running`: rows are scored; `done`: every reward has its results
 * - `failed`: the file could not be loaded, `failure` says why; earlier results stay, as `stale`
 */
export interface FileVerification {
	/** Absolute path. */
	readonly file: string;
	readonly phase: 'idle' | 'loading' | 'running' | 'done' | 'failed';
	/** Why the file could not be loaded, or its data not be read. */
	readonly failure: Failure | null;
	/** Lines of the cases file that are no cases. */
	readonly caseFaults: VerificationPlan['caseFaults'];
	/** As the file said when it was last loaded. */
	readonly rewards: readonly RewardDescription[];
	/** By name of the reward. */
	readonly results: ReadonlyMap<string, RewardResults>;
	/** The text has changed since the results were made. */
	readonly stale: boolean;
	/** Files whose change makes the results stale: the reward file, what it imports, its cases, its dataset. */
	readonly files: readonly string[];
}

/** What one reward did, by where the rows came from. */
export interface RewardResults {
	/** Sample of the dataset with right and wrong answers, and the labeled cases. */
	readonly data: Verification | null;
	/** The last recorded rollouts of the run that was chosen. */
	readonly rollouts: Verification | null;
	/** Text that was selected in an editor. */
	readonly selection: Verification | null;
}

export const noResults: RewardResults = { data: null, rollouts: null, selection: null };

export function unverified(file: string): FileVerification {
	return {
		file,
		phase: 'idle',
		failure: null,
		caseFaults: [],
		rewards: [],
		results: new Map(),
		stale: false,
		files: [file],
	};
}

/** The verifications of a reward that are there, the most telling first. */
export function resultsOf(results: RewardResults | undefined): Verification[] {
	return [results?.data, results?.rollouts, results?.selection].filter((entry) => entry != null);
}
