import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import type { EnvironmentFinding, LabeledResult, PolicyStatistics } from '../../../protocol/environmentVerification.ts';
import type { Episode } from '../../../protocol/episode.ts';
import type { EnvironmentLanguage } from '../environmentLanguage.ts';
import type { EpisodeDifference } from '../episodeDifference.ts';
import type { ParsedEpisodes } from '../labeledEpisode.ts';
import { type LanguageWords, languageWords } from '../languageWords.ts';

/** An episode that gave a different result when it was repeated with the same row and calls. */
export interface RepeatedEpisode {
	readonly row: number;
	/** Where it was repeated: in a new instance, alongside another instance in use, or in a reused one. */
	readonly where: 'new' | 'beside' | 'again';
	readonly difference: EpisodeDifference;
}

/** Results of labeled episodes, and invalid lines in their file. */
export interface LabeledEvidence {
	/** Absolute path. */
	readonly file: string;
	readonly results: readonly LabeledResult[];
	readonly faults: ParsedEpisodes['faults'];
}

/** Everything observed during a verification. */
export interface VerificationEvidence {
	readonly environment: EnvironmentDescription;
	readonly language: EnvironmentLanguage;
	readonly episodes: readonly Episode[];
	readonly policies: readonly PolicyStatistics[];
	/** Reward of the row's solution, by row. */
	readonly gold: ReadonlyMap<number, number>;
	readonly repeated: readonly RepeatedEpisode[];
	/** Turn limit for random-policy episodes. */
	readonly turnLimit: number;
	readonly labeled: LabeledEvidence | null;
	/** Rows whose `calls` column is invalid. */
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

/** Returns names and advice for the environment's language. */
export function wordsOf({ language }: VerificationEvidence): LanguageWords {
	return languageWords[language];
}
