import type { Failure } from '../../base/failure.ts';
import type { EnvironmentVerification, PolicyStatistics } from '../../protocol/environmentVerification.ts';

/** Verification state of one environment file. */
export interface EnvironmentState {
	readonly file: string;
	readonly phase: 'idle' | 'running' | 'done' | 'failed';
	/** Latest result, which may be older than the text. */
	readonly verification: EnvironmentVerification | null;
	/** Statistics of the last policy that played, if the latest result has none. */
	readonly earlierPolicy: PolicyStatistics | null;
	/** Name of the last policy that played; null if none has. */
	readonly policyName: string | null;
	/** Why the latest verification did not produce a result. */
	readonly failure: Failure | null;
	/** Whether the text has unsaved changes. */
	readonly stale: boolean;
}

export const unverifiedEnvironment = (file: string): EnvironmentState => ({
	file,
	phase: 'idle',
	verification: null,
	earlierPolicy: null,
	policyName: null,
	failure: null,
	stale: false,
});
