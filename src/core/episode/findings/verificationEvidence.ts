import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import type { EnvironmentFinding, PolicyStatistics } from '../../../protocol/environmentVerification.ts';
import type { Episode } from '../../../protocol/episode.ts';
import type { EpisodeDifference } from '../episodeDifference.ts';

/** An episode that was repeated with the same row and calls, and then differed. */
export interface RepeatedEpisode {
	readonly row: number;
	/** Where it was repeated: in a new instance, while another instance was in use, or in one used before. */
	readonly where: 'new' | 'beside' | 'again';
	readonly difference: EpisodeDifference;
}

/** Everything that a verification has observed. */
export interface VerificationEvidence {
	readonly environment: EnvironmentDescription;
	readonly episodes: readonly Episode[];
	readonly policies: readonly PolicyStatistics[];
	/** Reward of the row's solution, by row. */
	readonly gold: ReadonlyMap<number, number>;
	readonly repeated: readonly RepeatedEpisode[];
	/** Limit of turns in an episode of the random policy. */
	readonly turnLimit: number;
	/** Rows whose column `calls` cannot be used. */
	readonly solutionFaults: readonly { readonly row: number; readonly message: string }[];
}

/** Derives findings of one type. */
export type FindingRule = (evidence: VerificationEvidence) => EnvironmentFinding[];

export function lineOf({ environment }: VerificationEvidence, method: 'reset' | 'get_reward' | null): number {
	return (method === null ? undefined : environment.places[method]?.line) ?? environment.location.line;
}

export function toolLine({ environment }: VerificationEvidence, tool: string): number {
	return environment.tools.find(({ name }) => name === tool)?.location?.line ?? environment.location.line;
}
