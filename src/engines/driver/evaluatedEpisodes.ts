import { Failure } from '../../base/failure.ts';
import { isSuccess } from '../../core/episode/episodeSuccess.ts';
import type { EnvironmentDescription } from '../../protocol/environmentHost.ts';
import type { EvaluateAnswer } from '../../protocol/trainerLink.ts';
import { environmentFailures } from '../shared/environmentFailures.ts';
import type { EvaluatedSample } from '../shared/evaluation.ts';
import { describeFailures, type RewardFailures } from '../shared/scoreBatch.ts';

type Samples = EvaluateAnswer['samples'];

/** Parts of a run that an evaluation with episodes needs. */
export interface EpisodeEvaluation {
	/** Has the trainer play the episodes. */
	play(): Promise<Samples>;
	/** Restarts the environment's process. */
	reload(): Promise<void>;
	/** The environment as the recipe names it. */
	readonly name: string;
	/** Share of the episodes that may fail. */
	readonly tolerated: number;
	readonly step: number;
}

/**
 * Plays the episodes of an evaluation; if as many fail as would pause training, once more. Throws `unavailable` if too
 * many fail again, because accuracy cannot be measured then.
 */
export async function playedEpisodes(
	evaluation: EpisodeEvaluation,
): Promise<{ readonly samples: Samples; readonly failures: RewardFailures | null }> {
	const { name, tolerated, step } = evaluation;
	for (let attempt = 1; ; attempt++) {
		const samples = await evaluation.play();
		const failed = samples.flatMap(({ episode }, index) =>
			episode?.error === undefined ? [] : [{ index, error: episode.error }],
		);
		const [first] = failed;
		if (first === undefined) return { samples, failures: null };
		const failures = environmentFailures('environment', name, {
			failed: failed.length,
			rows: samples.length,
			...first,
		});
		if (failed.length <= tolerated * samples.length) return { samples, failures };
		if (attempt === 2) {
			throw new Failure(
				'unavailable',
				`Accuracy could not be measured at step ${step}. ${describeFailures(failures)}`,
				'Fix the cause, then resume the run.',
			);
		}
		await evaluation.reload();
	}
}

/**
 * Returns a sample to be judged. If the environment gives rewards, its episode is correct if it earned the largest one;
 * one that failed is not counted.
 */
export function judgedEpisode(
	sample: Samples[number],
	{ ownsReward, rewardRange }: Pick<EnvironmentDescription, 'ownsReward' | 'rewardRange'>,
): EvaluatedSample {
	const { reward, completion, ...rest } = sample;
	const correct =
		sample.episode?.error !== undefined
			? { correct: null }
			: ownsReward
				? { correct: isSuccess(reward ?? null, rewardRange) }
				: {};
	return { ...rest, completion: typeof completion === 'string' ? completion : '', ...correct };
}
