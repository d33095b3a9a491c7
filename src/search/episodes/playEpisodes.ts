import { checkAborted } from '../../base/async.ts';
import type { SearchResult } from '../../protocol/searchWorker.ts';
import type { SearchContext } from '../searchContext.ts';
import { OpenEpisodes } from './openEpisodes.ts';
import { type PolicyEpisodesOptions, policyEpisodes } from './policyEpisodes.ts';

type Options = Omit<PolicyEpisodesOptions, 'episodes' | 'context' | 'signal'> & {
	/** Memory limit of the environment's process, in MB. */
	readonly memoryMb?: number;
};

/**
 * Opens an environment and lets a policy play one episode per row. Fails with the same errors as `OpenEpisodes.open` and
 * `policyEpisodes`.
 */
export async function playEpisodes(
	{ memoryMb, ...options }: Options,
	context: SearchContext,
	signal: AbortSignal,
): Promise<SearchResult<'playEpisodes'>> {
	const { environment, seed } = options;
	const limits = memoryMb === undefined ? {} : { memoryMb };
	const episodes = await OpenEpisodes.open(environment, { ...context, ...limits, seed });
	try {
		checkAborted(signal);
		const played = await policyEpisodes({ ...options, episodes, context, signal });
		return { name: played.name, episodes: [...played.episodes] };
	} finally {
		episodes.dispose();
	}
}
