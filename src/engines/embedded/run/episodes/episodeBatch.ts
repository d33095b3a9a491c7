import type { EpisodeError } from '../../../../protocol/episode.ts';
import { environmentFailures } from '../../../shared/environmentFailures.ts';
import type { BatchScore, RowScore } from '../../../shared/scoreBatch.ts';
import type { PosedProblem } from '../problemFeed.ts';
import { type SamplingStage, type ScoredGroups, ScoringFailed } from '../rollout.ts';
import { scoreCompletions } from '../scoreCompletions.ts';
import type { SamplingHost } from '../stageHost.ts';
import { type EpisodePlayer, TooManyFailed } from './episodePlayer.ts';
import type { PlayedEpisode } from './liveEpisode.ts';

const nothingScored: Pick<BatchScore, 'rows' | 'failures' | 'metrics'> = { rows: [], failures: [], metrics: {} };

/** Column under which failed episodes are reported if the recipe does not use the environment's reward. */
const fallbackColumn = 'environment';

/**
 * Plays and scores one episode per problem. Episodes that failed have no rewards.
 * @throws {ScoringFailed} as soon as more episodes have failed than the recipe allows
 */
export async function scoredEpisodes(
	host: SamplingHost,
	player: EpisodePlayer,
	stage: SamplingStage,
	problems: readonly PosedProblem[],
	seeds: readonly string[],
): Promise<ScoredGroups> {
	const { recipe } = host.parts;
	const columns = recipe.rewards.flatMap((reward) =>
		'use' in reward && reward.use === 'environment' ? [reward.name] : [],
	);
	const column = columns[0] ?? fallbackColumn;
	const failuresOf = (failed: number, first: { readonly index: number; readonly error: EpisodeError }) =>
		environmentFailures(column, player.environment.name, { failed, rows: problems.length, ...first });
	const played = await player
		.play({
			problems: problems.map(({ problem }) => problem),
			seeds,
			temperature: stage.temperature,
			maxCompletionLength: stage.max_completion_length,
			sample: (request) => host.watch.measure('generate', () => host.sample(request)),
			signal: host.interrupt,
			tolerated: recipe.scoring.pauseAbove,
		})
		.catch((error: unknown) => {
			throw error instanceof TooManyFailed ? new ScoringFailed(failuresOf(error.failed, error.first)) : error;
		});
	host.watch.add(
		'environment',
		played.reduce((sum, { episode }) => sum + (episode.seconds ?? 0), 0),
	);
	const logs = played.flatMap((episode) => episode.logs);
	if (logs.length > 0) host.noteOutput(column, logs);
	const failed = played.flatMap(({ episode: { error } }, index) => (error === undefined ? [] : [{ index, error }]));
	const whole = played.filter(({ episode }) => episode.error === undefined);
	const known = Object.fromEntries(columns.map((name) => [name, whole.map(({ reward }) => reward)]));
	const scored = whole.length === 0 ? nothingScored : await scoreCompletions(host, whole, known);
	const scores = new Map(whole.map((episode, i) => [episode, scored.rows[i] as RowScore]));
	const names = host.parts.rewards.scorers.map((scorer) => scorer.column.name);
	const [first] = failed;
	return {
		metrics: scored.metrics,
		failures: [...scored.failures, ...(first === undefined ? [] : [failuresOf(failed.length, first)])],
		rows: played.map((one) => ({ ...completionOf(one), ...(scores.get(one) ?? unscored(one, names, column)) })),
	};
}

const completionOf = ({ posed, sample, completion, messages, episode }: PlayedEpisode) => ({
	posed,
	sample,
	completion,
	messages,
	episode,
});

/** Returns the scores of an episode that failed. */
function unscored({ episode }: PlayedEpisode, names: readonly string[], column: string): RowScore {
	return {
		rewards: Object.fromEntries(names.map((name) => [name, null])),
		errors: { [column]: episode.error?.message ?? 'The episode failed' },
		reward: null,
	};
}
