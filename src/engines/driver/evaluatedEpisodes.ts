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
	/** Lets the trainer play the episodes. */
	play(): Promise<Samples>;
	/** Restarts the environment's process. */
	reload(): Promise<void>;
	/** The environment as given in the recipe. */
	readonly name: string;
	/** Maximum fraction of failed episodes. */
	readonly tolerated: number;
	readonly step: number;
}

/**
 * Plays the episodes of an evaluation, and repeats them once if so many fail that training would pause. Throws
 * `unavailable` if too many fail again, because accuracy cannot be measured.
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
 * Returns a sample to be scored. If the environment provides rewards, the episode is correct if it earned the maximum
 * reward; failed episodes are not counted.
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
