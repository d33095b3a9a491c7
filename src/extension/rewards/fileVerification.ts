import type { Failure } from '../../base/failure.ts';
import type { RewardDescription } from '../../protocol/rewardHost.ts';
import type { Verification } from '../../protocol/verification.ts';
import type { VerificationPlan } from '../../rewards/verificationPlan.ts';

/**
 * State of one reward file: a complete snapshot that is replaced on every change.
 * - `idle`: not verified in this window; `loading`: its process is starting and loading the file and its imports
 * - `running`: rows are being scored; `done`: all rewards have results
 * - `failed`: the file could not be loaded (see `failure`); earlier results are kept and marked as `stale`
 */
export interface FileVerification {
	/** Absolute path. */
	readonly file: string;
	readonly phase: 'idle' | 'loading' | 'running' | 'done' | 'failed';
	/** Why the file could not be loaded or its data could not be read. */
	readonly failure: Failure | null;
	/** Invalid lines in the case file. */
	readonly caseFaults: VerificationPlan['caseFaults'];
	/** Rewards declared by the file when it was last loaded. */
	readonly rewards: readonly RewardDescription[];
	/** Results by reward name. */
	readonly results: ReadonlyMap<string, RewardResults>;
	/** Whether the text has changed since the results were created. */
	readonly stale: boolean;
	/** Files whose changes make the results stale: the reward file, its imports, its cases, and its dataset. */
	readonly files: readonly string[];
}

/** Results for one reward, by row source. */
export interface RewardResults {
	/** Results on a dataset sample with correct and incorrect answers, and on the labeled cases. */
	readonly data: Verification | null;
	/** Results on the latest recorded rollouts of the selected run. */
	readonly rollouts: Verification | null;
	/** Results on text selected in an editor. */
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

/** Returns a reward's available verifications, most informative first. */
export function resultsOf(results: RewardResults | undefined): Verification[] {
	return [results?.data, results?.rollouts, results?.selection].filter((entry) => entry != null);
}
