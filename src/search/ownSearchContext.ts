import { PolicyPool } from './policyPool.ts';
import type { SearchContext } from './searchContext.ts';

/**
 * Returns a context with this process's environment and a separate policy pool, which the caller disposes of. Policies
 * are closed as soon as they are no longer used.
 */
export function ownSearchContext(policies: Omit<SearchContext['policies'], 'environment'>): SearchContext {
	const { env: environment } = process;
	return { pool: new PolicyPool(0), policies: { ...policies, environment }, environment };
}
