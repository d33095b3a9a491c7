import type { Metrics } from '../../../../core/grpo/stepMetrics.ts';
import type { RolloutEpisode } from '../../../../protocol/rolloutEpisode.ts';

/**
 * Returns the metrics of the episodes in a generation batch: `tools/call_frequency` and `tools/failure_frequency` as TRL
 * 1.13 defines them (`GRPOTrainer._generate`), and additional metrics for time, turns and failures. Empty without
 * episodes.
 */
export function episodeMetrics(episodes: readonly RolloutEpisode[]): Metrics {
	if (episodes.length === 0) return {};
	const sum = (of: (episode: RolloutEpisode) => number) => episodes.reduce((total, one) => total + of(one), 0);
	const calls = sum((episode) => episode.calls ?? 0);
	const failures = sum((episode) => episode.failures ?? 0);
	return {
		'tools/call_frequency': calls / episodes.length,
		'tools/failure_frequency': calls === 0 ? 0 : failures / calls,
		'environment/turns': sum(({ turns }) => turns?.length ?? 0) / episodes.length,
		'environment/seconds': sum(({ seconds }) => seconds ?? 0),
		'environment/timeouts': sum(({ error }) => Number(error?.kind === 'timeout')),
		'environment/failed': sum(({ error }) => Number(error !== undefined)),
	};
}
