import { beginSearch, type SearchOptions, type SearchResult } from '../../src/core/search/searchRun.ts';

/** Runs a search to completion. Logs an `end` event even if the policy or a scorer fails. */
export function runSearch(options: SearchOptions): Promise<SearchResult> {
	return beginSearch(options).result;
}
