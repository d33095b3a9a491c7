import { type AnyStrategy, episodeStrategies, strategies } from '../../src/core/search/strategies.ts';
import type { SearchDraft } from '../../src/protocol/newSearchMessages.ts';

/** Strategy for the first search in a workspace, which needs neither a scorer nor steps. */
const firstStrategy = 'self-consistency';
/** Strategy for the first search over episodes. */
const firstEpisodeStrategy = 'best-of-n';

/** Returns a draft's strategy, or a default if it has none or has one that cannot play episodes. */
export function strategyOf({ strategy }: SearchDraft, episodes: boolean): AnyStrategy {
	const chosen = strategies.find(({ name }) => name === strategy);
	if (!episodes) return chosen ?? named(firstStrategy);
	return chosen !== undefined && episodeStrategies.includes(chosen.name) ? chosen : named(firstEpisodeStrategy);
}

const named = (strategy: string): AnyStrategy =>
	strategies.find(({ name }) => name === strategy) ?? (strategies[0] as AnyStrategy);

/** Returns a draft without some of its parts. */
export function without<K extends keyof SearchDraft>(draft: SearchDraft, ...names: K[]): SearchDraft {
	return Object.fromEntries(Object.entries(draft).filter(([name]) => !(names as string[]).includes(name)));
}
